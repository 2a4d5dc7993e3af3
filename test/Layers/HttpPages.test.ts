import { brotliDecompressSync } from "node:zlib"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Application from "../../src/Layers/Application.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import { mostAnswerBytes } from "../../src/Schemas/Page.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { layerNode } from "../support/Backends.ts"
import * as EmbeddedCopy from "../support/EmbeddedCopy.ts"
import { layerOver, makeTenant } from "../support/Service.ts"
import { dataOf, isError, makeWeb } from "../support/Web.ts"

interface Row {
  readonly id: string
}

const served = Application.layer.pipe(
  Layer.provideMerge(Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })),
  Layer.provideMerge(layerNode(EmbeddedCopy.layerClient))
)

/** A tenant of its own, and rows that nobody has to send one by one. */
const subject = Effect.gen(function* () {
  const { send, sendBytes } = yield* makeWeb
  const { token, user, workspaceId } = yield* makeTenant()
  const sql = yield* PgClient
  const get = (path: string) => send("GET", path, { token })
  const of = (path: string, query = "") => get(`${path}?workspaceId=${workspaceId}${query}`)
  const idOf = (kind: string, n: number | string) => `${workspaceId}_${kind}${n}`

  const agents = (count: number) => sql`
    insert into agents (id, workspace_id, name, is_active, created_at, updated_at)
    select ${workspaceId}::text || '_a' || n, ${workspaceId}, 'Agent', true, at, at from (
      select n, timestamptz '2026-01-01' + n * interval '1 microsecond' as at from generate_series(1, ${count}::int) n) s`

  const memory = (count: number, length: number, text = "x") => sql`
    insert into memory_entries (id, workspace_id, key, value, category, created_at, updated_at)
    select ${workspaceId}::text || '_m' || n, ${workspaceId}, n::text, repeat(${text}, ${length}), 'general', at, at
    from (select n, timestamptz '2026-01-01' + n * interval '1 second' as at
      from generate_series(1, ${count}::int) n) s`

  const conversation = (count: number, length: number) =>
    Effect.gen(function* () {
      const id = idOf("c", 0)
      yield* sql`
        insert into conversations (id, workspace_id, title, owner_id, created_at, updated_at)
        values (${id}, ${workspaceId}, 'A "title"', ${user.id}, now(), now())`
      yield* sql`
        insert into messages (id, conversation_id, role, content, created_at)
        select ${id}::text || '_' || n, ${id}, 'USER', repeat('x', ${length}), now()
        from generate_series(1, ${count}::int) n order by n`
      return `/api/chat/conversations/${id}`
    })

  const runs = (count: number, length: number) => sql`
    insert into runs (id, workspace_id, status, prompt, output, autonomy_level, attempts, created_at, updated_at)
    select ${workspaceId}::text || '_r' || n, ${workspaceId}, 'COMPLETED', 'p', repeat('x', ${length}), 'autonomous', 1,
      at, at from (select timestamptz '2026-01-01' + n * interval '1 second' as at, n
        from generate_series(1, ${count}::int) n) s`

  return { agents, conversation, get, idOf, memory, of, runs, sendBytes, token, workspaceId }
})

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)

const tooLarge = /^limit: .* would be over 32 MiB$/

describe("lists", () => {
  layer(served, { excludeTestServices: true })((it) => {
    it.effect("are told whole, whatever their length, each row once and in order", () =>
      Effect.gen(function* () {
        const { agents, idOf, of, sendBytes, token, workspaceId } = yield* subject
        yield* agents(1_005)
        const whole = yield* of("/api/agents")
        assert.strictEqual(whole.status, 200)
        assert.strictEqual(whole.headers.get("content-type"), "application/json")
        assert.isNull(whole.headers.get("x-next-after"))
        const ids = dataOf<ReadonlyArray<Row>>(whole).map(({ id }) => id)
        assert.deepStrictEqual(
          ids,
          numbers(1, 1_005).map((n) => idOf("a", n))
        )
        const path = `/api/agents?workspaceId=${workspaceId}`
        const packed = yield* sendBytes("GET", path, { token, headers: { "accept-encoding": "br" } })
        assert.strictEqual(packed.headers.get("content-encoding"), "br")
        assert.strictEqual(brotliDecompressSync(packed.bytes).toString(), whole.text)
        // What is small is told as one that is not.
        const one = yield* of("/api/agents", "&limit=1")
        const first = JSON.stringify(dataOf<ReadonlyArray<Row>>(whole)[0])
        assert.strictEqual(one.text, `{"data":[${first}]}`)
      })
    )

    it.effect("are told in pages, with where the next begins while there is one", () =>
      Effect.gen(function* () {
        const { agents, idOf, of } = yield* subject
        yield* agents(1_005)
        for (const limit of [50, 300, 1_000]) {
          const page = yield* of("/api/agents", `&limit=${limit}`)
          assert.strictEqual(dataOf<ReadonlyArray<Row>>(page).length, limit)
          assert.strictEqual(page.headers.get("x-next-after"), idOf("a", limit))
        }
        for (const query of ["&limit=300", "&limit=5", ""]) {
          const last = yield* of("/api/agents", `&after=${idOf("a", 1_000)}${query}`)
          assert.strictEqual(dataOf<ReadonlyArray<Row>>(last)[0]?.id, idOf("a", 1_001))
          assert.strictEqual(dataOf<ReadonlyArray<Row>>(last).length, 5)
          assert.isNull(last.headers.get("x-next-after"))
        }
        const rest = yield* of("/api/agents", `&after=${idOf("a", 100)}`)
        assert.strictEqual(dataOf<ReadonlyArray<Row>>(rest).length, 905)
      })
    )

    it.effect("refuse to begin behind what is not there, and tell no tenant of another", () =>
      Effect.gen(function* () {
        const { agents, idOf } = yield* subject
        yield* agents(1)
        const { of } = yield* subject
        for (const path of [
          "/api/agents",
          "/api/cron-jobs",
          "/api/connectors",
          "/api/chat/memory",
          "/api/runs"
        ]) {
          for (const after of [idOf("a", 1), "none"]) {
            const refused = yield* of(path, `&after=${after}`)
            isError(refused, 400, "invalid_input", "after: does not exist in this workspace")
          }
        }
        const both = yield* of("/api/runs", "&after=none&offset=0")
        isError(both, 400, "invalid_input", "after: can't be used together with offset")
      })
    )

    it.effect("are refused over 32 MiB, and told in smaller pages", () =>
      Effect.gen(function* () {
        const { idOf, memory, of } = yield* subject
        yield* memory(400, 100_000)
        for (const query of ["", "&limit=1000", `&after=${idOf("m", 1)}`]) {
          const refused = yield* of("/api/chat/memory", query)
          isError(refused, 400, "invalid_input")
          assert.match((refused.body as { readonly error: string }).error, tooLarge)
        }
        const page = yield* of("/api/chat/memory", "&limit=330")
        assert.strictEqual(dataOf<ReadonlyArray<Row>>(page).length, 330)
        assert.isAtMost(page.text.length, mostAnswerBytes)
        assert.strictEqual(page.headers.get("x-next-after"), idOf("m", 330))
        const rest = yield* of("/api/chat/memory", `&after=${idOf("m", 330)}`)
        assert.strictEqual(dataOf<ReadonlyArray<Row>>(rest).length, 70)
      })
    )

    it.effect("tell a conversation from its end, in order", () =>
      Effect.gen(function* () {
        const { conversation, get, idOf } = yield* subject
        const path = yield* conversation(500, 1_000)
        const told = (query: string) =>
          Effect.map(get(`${path}${query}`), (answer) => {
            const { messages, title } = dataOf<{
              readonly title: string
              readonly messages: ReadonlyArray<Row>
            }>(answer)
            assert.strictEqual(title, 'A "title"')
            return messages.map(({ id }) => id)
          })
        const id = (n: number) => `${idOf("c", 0)}_${n}`
        assert.deepStrictEqual(yield* told(""), numbers(1, 500).map(id))
        assert.deepStrictEqual(yield* told("?limit=2"), [id(499), id(500)])
        assert.deepStrictEqual(yield* told("?limit=400"), numbers(101, 500).map(id))
        assert.deepStrictEqual(yield* told(`?limit=2&before=${id(3)}`), [id(1), id(2)])
        assert.deepStrictEqual(yield* told(`?before=${id(450)}`), numbers(1, 449).map(id))
        isError(
          yield* get(`${path}?before=none`),
          400,
          "invalid_input",
          "before: is no message of this conversation"
        )
      })
    )

    it.effect("tell runs with long outputs, up to 32 MiB of them", () =>
      Effect.gen(function* () {
        const { idOf, of, runs } = yield* subject
        yield* runs(60, 1_000_000)
        const page = yield* of("/api/runs", "&limit=30&offset=1")
        const { data, total } = page.body as { readonly data: ReadonlyArray<Row>; readonly total: number }
        assert.deepStrictEqual(
          data.map(({ id }) => id),
          numbers(30, 59)
            .reverse()
            .map((n) => idOf("r", n))
        )
        assert.strictEqual(total, 60)
        const behind = yield* of("/api/runs", `&limit=1&after=${idOf("r", 30)}`)
        assert.strictEqual(dataOf<ReadonlyArray<Row>>(behind)[0]?.id, idOf("r", 29))
        const refused = yield* of("/api/runs", "&limit=50")
        isError(refused, 400, "invalid_input")
        assert.match((refused.body as { readonly error: string }).error, tooLarge)
      })
    )
  })
})

/** A list of two pieces, of which the store fails to tell one. */
const broken = (fails: "extent" | "slice") => {
  const away = new Unavailable({ error: "away" })
  const place = { id: "agent_1", createdAt: new Date(0) }
  return layerOver(
    Layer.succeed(AgentRepo, {
      insert: () => Effect.die("x"),
      find: () => Effect.succeed(Option.none()),
      page: (_, { after }) =>
        after === null ? Effect.succeed({ rows: [], next: place }) : Effect.fail(away),
      extent: () =>
        fails === "extent"
          ? Effect.fail(away)
          : Effect.succeed({ isOver: false, after: null, until: place, next: null }),
      remove: () => Effect.succeed(false),
      update: () => Effect.succeed(Option.none()),
      named: () => Effect.die("x"),
      setPolicy: () => Effect.die("x")
    })
  )
}

describe("a list whose store breaks", () => {
  it.effect("is a 503 before its head is sent", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const answer = yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token })
      isError(answer, 503, "unavailable", "away")
    }).pipe(Effect.provide(broken("extent")))
  )

  it.effect("never ends as if it were whole behind its head", () =>
    Effect.gen(function* () {
      const { drain } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const cut = yield* Effect.exit(drain("GET", `/api/agents?workspaceId=${workspaceId}`, { token }))
      assert.isTrue(Exit.isFailure(cut))
    }).pipe(Effect.provide(broken("slice")))
  )
})
