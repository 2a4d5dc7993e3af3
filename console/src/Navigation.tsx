import { useSignalEffect } from "@preact/signals"
import { useEffect, useState } from "preact/hooks"
import { call } from "./Client.ts"
import { counts, setCount } from "./Counts.ts"
import { useAction, useLoad } from "./Load.ts"
import { go, href, route } from "./Router.ts"
import { choose, current, signOut, workspaces } from "./Session.ts"
import { Button } from "./ui/Button.tsx"
import { viewOf, views } from "./Views.ts"

const lookMillis = 5_000
const mostCounted = 100

/** How many tool calls wait for somebody, told beside the link. */
const Waiting = ({ id }: { readonly id: NonNullable<typeof current.value>["id"] }) => {
  const { data } = useLoad(
    id,
    (signal) =>
      call(
        (client) => client.approvals.list({ query: { workspaceId: id, limit: mostCounted, offset: 0 } }),
        signal
      ),
    { every: lookMillis }
  )
  const waiting = data?.data.length ?? 0
  useEffect(() => setCount("approvals", waiting), [waiting])
  return null
}

/** The views, the workspace that is looked at, and the way out. On a narrow window it is folded away. */
export const Navigation = () => {
  const [isOpen, setOpen] = useState(false)
  const leave = useAction(signOut)
  const { value: workspace } = current
  const shown = viewOf(route.value.path)
  useSignalEffect(() => {
    if (route.value !== undefined) setOpen(false)
  })
  return (
    <header class="side">
      {workspace !== undefined && <Waiting key={workspace.id} id={workspace.id} />}
      <div class="side-head">
        <a class="brand" href={href(["runs"])}>
          agentd
        </a>
        <Button
          kind="quiet"
          class="side-toggle"
          aria-expanded={isOpen}
          aria-controls="side-body"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </Button>
      </div>
      <div id="side-body" class={isOpen ? "side-body side-open" : "side-body"}>
        {workspaces.value !== undefined && workspaces.value.length > 0 && (
          <div class="side-workspace">
            <select
              aria-label="Workspace"
              value={workspace?.id}
              onChange={(event) => {
                choose(event.currentTarget.value)
                go(href([shown?.path ?? "runs"]))
              }}
            >
              {workspaces.value.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </div>
        )}
        <nav aria-label="Views">
          {views.map(({ name, path }) => (
            <a key={path} href={href([path])} aria-current={shown?.path === path ? "page" : undefined}>
              {name}
              {(counts.value[path] ?? 0) > 0 && (
                <>
                  {" "}
                  <span class="side-count">
                    {counts.value[path] === mostCounted ? `${mostCounted}+` : counts.value[path]}
                    <span class="visually-hidden"> waiting</span>
                  </span>
                </>
              )}
            </a>
          ))}
        </nav>
        <Button kind="quiet" class="side-out" isBusy={leave.isBusy} onClick={() => leave.run()}>
          Sign out
        </Button>
        {leave.problem !== undefined && (
          <p class="field-problem" role="alert">
            {leave.problem.message}
          </p>
        )}
      </div>
    </header>
  )
}
