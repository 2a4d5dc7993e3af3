import type { PgClient } from "@effect/sql-pg/PgClient"
import { describe, layer, type Vitest } from "@effect/vitest"
import * as Layer from "effect/Layer"
import * as Repo from "../../src/Layers/Repo.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { Settings, type SettingsShape } from "../../src/Services/Settings.ts"
import * as EmbeddedCopy from "./EmbeddedCopy.ts"
import * as Postgres from "./Postgres.ts"

/** What a suite that runs on every backend can ask for. */
export type Backend = Layer.Success<typeof Repo.layerMemory> | Ids | Settings

/** The tests of a suite; they run on the live clock, since leases end by the clock of the store. */
export type It = Vitest.MethodsNonLive<Backend>

const base = Layer.mergeAll(Layer.succeed(Settings, Settings.defaults), Ids.layer)

export const layerMemory = Layer.provideMerge(Repo.layerMemory, base)

const layerPostgres = Layer.provideMerge(Repo.layerPostgres, base)
export const layerEmbedded = Layer.provide(layerPostgres, EmbeddedCopy.layerClient)
export const layerServer = Layer.provide(layerPostgres, Postgres.layerClient)

/** Runs a suite once on each backend, over one store per backend. */
export const onEveryBackend = (name: string, suite: (it: It) => void): void => {
  const options = { excludeTestServices: true, timeout: "1 minute" } as const
  layer(layerMemory, options)(`${name} in memory`, suite)
  layer(layerEmbedded, options)(`${name} on the embedded database`, suite)
  if (Postgres.hasPostgres) {
    layer(layerServer, options)(`${name} on PostgreSQL`, suite)
  } else {
    describe.skip(Postgres.skipped(`${name} on PostgreSQL`), () => layer(layerServer, options)(suite))
  }
}

/** Every repository over a client, as one node of several has it: nothing is shared with another. */
export const layerNode = <E, R>(client: Layer.Layer<PgClient, E, R>, settings: Partial<SettingsShape> = {}) =>
  Layer.fresh(
    Repo.layerPostgres.pipe(
      Layer.provideMerge(
        Layer.mergeAll(client, Ids.layer, Layer.succeed(Settings, { ...Settings.defaults, ...settings }))
      )
    )
  )
