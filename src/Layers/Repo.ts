import * as InMemory from "./Repo/InMemory.ts"
import * as Postgres from "./Repo/Postgres.ts"

/** Every repository over tables in memory, for tests: nothing outlives it. */
export const layerMemory = InMemory.layer

/** Every repository over a migrated PostgreSQL, embedded or not. */
export const layerPostgres = Postgres.layer

/** What can be asked of a PostgreSQL that is not migrated. */
export const layerReport = Postgres.layerReport
