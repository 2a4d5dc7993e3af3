import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { DatabaseReport } from "../../../Services/DatabaseReport.ts"

/** Memory is always as it should be. */
export const layer = Layer.succeed(DatabaseReport, {
  facts: Effect.succeed({
    isEmbedded: true,
    version: "memory",
    major: 18,
    encoding: "UTF8",
    isWritable: true,
    canCreate: true,
    foreignTables: 0,
    listens: true,
    schema: 0,
    latestSchema: 0,
    clockMillis: 0,
    clockError: 0,
    connections: 1,
    connectionsUsed: 1
  })
})
