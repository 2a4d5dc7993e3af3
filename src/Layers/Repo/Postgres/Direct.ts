import type { Config } from "@effect/sql-pg/PgConnection"
import * as Context from "effect/Context"

/** How a session of one's own is made, where those of the pool belong to a pooler; else as those are. */
export class Direct extends Context.Reference<Config | undefined>("agentd/Layers/Repo/Postgres/Direct", {
  defaultValue: () => undefined
}) {}
