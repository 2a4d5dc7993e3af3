import type { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, layer, type Vitest } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Application from "../../src/Layers/Application.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { layerNode } from "../support/Backends.ts"
import * as EmbeddedCopy from "../support/EmbeddedCopy.ts"
import { isByLink, isOfEnded, makeWorld, operations, requestOf } from "../support/Operations.ts"
import * as Postgres from "../support/Postgres.ts"
import { layerOffline } from "../support/Service.ts"
import type { Answer } from "../support/Web.ts"

class Worlds extends Context.Service<
  Worlds,
  { readonly make: Effect.Effect<Effect.Success<typeof makeWorld>, unknown, Scope.Scope> }
>()("agentd/test/IdempotencyOfAll/Worlds") {
  static readonly layer = Layer.effect(
    Worlds,
    Effect.map(Effect.context<Exclude<Effect.Services<typeof makeWorld>, Scope.Scope>>(), (context) => ({
      make: Effect.provideContext(makeWorld, context)
    }))
  )
}

const yesterday = () => ({
  from: new Date(Date.now() - 86_400_000).toISOString(),
  to: new Date().toISOString()
})

const isReplay = ({ headers }: Answer) => headers.get("idempotency-replayed") === "true"
const frames = (text: string) => text.split("\n\n").filter((frame) => frame.startsWith("id:"))

/** Keys are kept by user, and who signs in by a link is none yet: a link works once by itself. */
const posts = operations.filter((operation) => operation.method === "POST" && !isByLink(operation))

const suite = (it: Vitest.MethodsNonLive<Worlds>) => {
  for (const operation of posts) {
    it.effect(`${operation.id} is done once, and answered twice`, () =>
      Effect.gen(function* () {
        const { mine, other, send, snapshot } = yield* Effect.flatMap(Worlds, ({ make }) => make)
        if (isOfEnded(operation))
          yield* send("POST", `/api/runs/${mine.ids.run}/cancel`, { token: mine.token })
        const { path, ...asked } = requestOf(operation, mine.ids)
        // By the clock of the store.
        const rest = operation.id === "cronJobs.backfill" ? { ...asked, json: yesterday() } : asked
        const headers = { "idempotency-key": `key of ${operation.id}`.replaceAll(" ", "-") }
        const ask = send("POST", path, { token: mine.token, ...rest, headers })
        const first = yield* ask
        assert.isBelow(first.status, 300, first.text)
        const before = operation.id === "chat.send" ? undefined : yield* snapshot(mine)
        const again = yield* ask
        assert.deepStrictEqual([isReplay(first), isReplay(again)], [false, true], again.text)
        assert.strictEqual(again.status, first.status)
        if (operation.id === "chat.send") assert.strictEqual(frames(again.text)[0], frames(first.text)[0])
        else assert.strictEqual(again.text, first.text)
        // What went wrong the first time is no answer that is kept.
        const refused = yield* send("POST", path, { token: "agentd_no", ...rest, headers })
        assert.strictEqual(refused.status, 401)
        if (before !== undefined) assert.deepStrictEqual(yield* snapshot(mine), before)
        // The same key of another user: his own request, which is refused where it names what is not his.
        const foreign = yield* send("POST", path, { token: other.token, ...rest, headers })
        assert.isFalse(isReplay(foreign), foreign.text)
      })
    )
  }
}

const suiteAtOnce = (it: Vitest.MethodsNonLive<Worlds>) =>
  it.effect("many at once, of one key and of many, beside others, are all answered", () =>
    Effect.gen(function* () {
      const { mine, send } = yield* Effect.flatMap(Worlds, ({ make }) => make)
      const { ids, token } = mine
      const workspaceId = ids.workspace
      const post = (path: string, json: object, key?: string) =>
        send("POST", path, {
          token,
          json: { workspaceId, ...json },
          ...(key !== undefined && { headers: { "idempotency-key": key } })
        }).pipe(
          Effect.tap(({ headers, status }) => {
            if (headers.get("x-error-code") !== "idempotency_in_progress") return Effect.void
            assert.deepStrictEqual([status, headers.get("retry-after")], [409, "1"])
            return Effect.sleep(5)
          }),
          Effect.repeat({ while: ({ headers }) => headers.get("x-error-code") === "idempotency_in_progress" })
        )
      const asked = Array.from({ length: 20 }, (_, n) => [
        post("/api/agents", { name: `different ${n}` }, `different ${n}`.replace(" ", "-")),
        post("/api/agents", { name: `plain ${n}` }),
        post("/api/agents", { name: "same" }, "same"),
        post("/api/chat/memory", { key: "one row", value: `${n}` }, `memory-${n}`),
        post("/api/chat/messages", { content: `${n}` }, `chat-${n}`)
      ])
      const answers = yield* Effect.all(asked.flat(), { concurrency: "unbounded" })
      for (const { status, text } of answers) assert.isBelow(status, 300, text)
      const { text } = yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token })
      for (const name of ["same", ...asked.map((_, n) => `different ${n}`)]) {
        assert.lengthOf(text.split(`"name":"${name}"`), 2, name)
      }
    })
  )

const all = (it: Vitest.MethodsNonLive<Worlds>) => {
  suite(it)
  suiteAtOnce(it)
}

const secretBox = Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })

const over = <E, R>(client: Layer.Layer<PgClient, E, R>) =>
  Worlds.layer.pipe(
    Layer.provide(Application.layer),
    Layer.provide(secretBox),
    Layer.provide(layerNode(client))
  )

/** Whatever asked for a second connection, or waited for who does, would wait for ever. */
const oneConnection = Layer.unwrap(
  Effect.map(Postgres.migratedDatabase, (url) => Postgres.client(url, { maxConnections: 1 }))
)

describe("every POST with a key", () => {
  const options = { excludeTestServices: true } as const
  layer(Layer.provide(Worlds.layer, layerOffline()), options)("in memory", all)
  layer(over(EmbeddedCopy.layerClient), options)("on the embedded database", all)
  if (Postgres.hasPostgres) layer(over(oneConnection), options)("on PostgreSQL with one connection", all)
  if (Postgres.hasPostgres) layer(over(Postgres.layerClient), options)("on PostgreSQL", suiteAtOnce)
  else describe.skip(Postgres.skipped("every POST with a key on PostgreSQL"), () => {})
})
