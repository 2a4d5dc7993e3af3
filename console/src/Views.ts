import type { ComponentType } from "preact"

/** A view by its name, which is its address and the text of its link. */
export interface View {
  readonly name: string
  readonly path: string
  readonly load: () => Promise<{ readonly default: ComponentType }>
}

/** In the order of the navigation (CONTRACT.md section 15). */
export const views: ReadonlyArray<View> = [
  { name: "Runs", path: "runs", load: () => import("./views/Runs/Runs.tsx") },
  { name: "Approvals", path: "approvals", load: () => import("./views/Approvals/Approvals.tsx") },
  { name: "Schedules", path: "schedules", load: () => import("./views/Schedules/Schedules.tsx") },
  { name: "Chat", path: "chat", load: () => import("./views/Chat/Chat.tsx") },
  { name: "Agents", path: "agents", load: () => import("./views/Agents/Agents.tsx") },
  { name: "Connectors", path: "connectors", load: () => import("./views/Connectors/Connectors.tsx") },
  { name: "Models", path: "models", load: () => import("./views/Models/Models.tsx") },
  { name: "Webhooks", path: "webhooks", load: () => import("./views/Webhooks/Webhooks.tsx") },
  { name: "Usage", path: "usage", load: () => import("./views/Usage/Usage.tsx") },
  { name: "Settings", path: "settings", load: () => import("./views/Settings/Settings.tsx") }
]

const first = "runs"

/** The view of a path; the first one of none. Undefined: there is no such view. */
export const viewOf = (path: ReadonlyArray<string>): View | undefined =>
  views.find((view) => view.path === (path[0] ?? first))

/** What views look like, of those that have been looked at. */
export const loaded = new Map<View, ComponentType>()

/** Loads a view, of which there is `loaded` from then on. */
export const loadView = async (view: View): Promise<void> => {
  const { default: Shows } = await view.load()
  loaded.set(view, Shows)
}
