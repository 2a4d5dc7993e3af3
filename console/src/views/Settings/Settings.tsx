import type { ComponentType } from "preact"
import { href, route } from "../../Router.ts"
import { Empty, Page } from "../../ui/Page.tsx"
import { Tabs } from "../../ui/Tabs.tsx"
import { About } from "./About.tsx"
import { Audit } from "./Audit.tsx"
import { Budgets } from "./Budgets.tsx"
import { Members } from "./Members.tsx"
import { Memory } from "./Memory.tsx"
import { Tokens } from "./Tokens.tsx"
import { Workspace } from "./Workspace.tsx"
import "./Settings.css"

interface Part {
  readonly path: string
  readonly label: string
  readonly Shows: ComponentType
}

const first: Part = { path: "workspace", label: "Workspace", Shows: Workspace }

const parts: ReadonlyArray<Part> = [
  first,
  { path: "members", label: "Members", Shows: Members },
  { path: "tokens", label: "Tokens", Shows: Tokens },
  { path: "budget", label: "Budget", Shows: Budgets },
  { path: "memory", label: "Memory", Shows: Memory },
  { path: "audit", label: "Audit", Shows: Audit },
  { path: "about", label: "Appearance and about", Shows: About }
]

/** What the workspace is, who is in it, and what it may. */
const Settings = () => {
  const path = route.value.path[1] ?? first.path
  const part = parts.find((each) => each.path === path)
  return (
    <Page title="Settings">
      <Tabs
        label="Parts of the settings"
        tabs={parts.map((each) => ({
          href: href(["settings", each.path]),
          label: each.label,
          isCurrent: each === part
        }))}
      />
      {part === undefined ? <Empty title="There is no such part." /> : <part.Shows />}
    </Page>
  )
}

export default Settings
