import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { DatabaseFacts } from "../Schemas/Doctor.ts"

/** The database can't be asked; the innermost cause says why. */
export class DatabaseSilent extends Schema.TaggedError<DatabaseSilent>()("DatabaseSilent", {
  cause: Schema.Defect()
}) {}

/** What there is to know of the database for whoever looks after it. */
export class DatabaseReport extends Context.Service<
  DatabaseReport,
  {
    /** Needs no table, and changes nothing. */
    readonly facts: Effect.Effect<DatabaseFacts, DatabaseSilent>
  }
>()("agentd/Services/DatabaseReport") {}
