import * as Context from "effect/Context"

/**
 * Whether statements only look a row or two up by a key: they wait for nobody and may share a session with others
 * (`Sessions.ts`, docs/adr/0019-requests.md). What writes, locks, or reads as many rows as there are is not brief.
 */
export class Brief extends Context.Reference<boolean>("agentd/Layers/Repo/Postgres/Brief", {
  defaultValue: () => false
}) {}
