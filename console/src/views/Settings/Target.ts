const views: Readonly<Record<string, string>> = {
  agent: "agents",
  conn: "connectors",
  conv: "chat",
  cron: "schedules",
  run: "runs",
  wh: "webhooks"
}

/** The address of the view of what an id names, by its prefix; undefined where there is none. */
export const addressOf = (id: string): string | undefined => {
  const view = views[id.slice(0, Math.max(0, id.indexOf("_")))]
  return view === undefined ? undefined : `#/${view}/${encodeURIComponent(id)}`
}
