import type { PgClient } from "@effect/sql-pg/PgClient"
import { describe, layer, type Vitest } from "@effect/vitest"
import * as Layer from "effect/Layer"
import { Store } from "../../src/Layers/Repo/InMemory/Store.ts"
import * as Repo from "../../src/Layers/Repo.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { Settings, type SettingsShape } from "../../src/Services/Settings.ts"
import * as EmbeddedCopy from "./EmbeddedCopy.ts"
import * as Postgres from "./Postgres.ts"
import { WebhookRows } from "./Webhooks.ts"

/** What a suite that runs on every backend can ask for. */
export type Backend = Layer.Success<typeof Repo.layerMemory> | Ids | Settings | WebhookRows

/** The tests of a suite; they run on the live clock, since leases end by the clock of the store. */
export type It = Vitest.MethodsNonLive<Backend>

/** The patience with the database is no matter of these tests, unless they say one. */
const base = (settings: Partial<SettingsShape>) =>
  Layer.mergeAll(
    Layer.succeed(Settings, { ...Settings.defaults, databaseTimeoutMillis: 180_000, ...settings }),
    Ids.layer
  )

/** Every repository over a client, as one node of several has it: nothing is shared with another. */
export const layerNode = <E, R>(client: Layer.Layer<PgClient, E, R>, settings: Partial<SettingsShape> = {}) =>
  Layer.fresh(
    Layer.provideMerge(
      Layer.merge(Repo.layerPostgres, WebhookRows.layerPostgres),
      Layer.merge(client, base(settings))
    )
  )

/** Runs a suite once on each backend, over one store per backend. */
export const onEveryBackend = (
  name: string,
  suite: (it: It) => void,
  settings: Partial<SettingsShape> = {}
): void => {
  const options = { excludeTestServices: true } as const
  // With its tables, for what no port shows; the layer is one.
  const memory = Layer.provideMerge(
    Layer.mergeAll(Repo.layerMemory, WebhookRows.layerMemory, Store.layer),
    base(settings)
  )
  const server = layerNode(Postgres.layerClient, settings)
  layer(memory, options)(`${name} in memory`, suite)
  layer(layerNode(EmbeddedCopy.layerClient, settings), options)(`${name} on the embedded database`, suite)
  if (Postgres.hasPostgres) {
    layer(server, options)(`${name} on PostgreSQL`, suite)
  } else {
    describe.skip(Postgres.skipped(`${name} on PostgreSQL`), () => layer(server, options)(suite))
  }
}
