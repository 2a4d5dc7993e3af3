import * as Layer from "effect/Layer"
import * as InMemory from "./Repo/InMemory.ts"
import * as Postgres from "./Repo/Postgres.ts"
import * as Rights from "./Repo/Rights.ts"

/** Every repository over tables in memory, for tests: nothing outlives it. */
export const layerMemory = Layer.provideMerge(Rights.layer, InMemory.layer)

/** Every repository over a migrated PostgreSQL, embedded or not. */
export const layerPostgres = Layer.provideMerge(Rights.layer, Postgres.layer)

/** What can be asked of a PostgreSQL that is not migrated. */
export const layerReport = Postgres.layerReport
