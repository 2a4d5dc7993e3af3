import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Transfer } from "../../../src/Services/Transfer.ts"
import { layerNode } from "../../support/Backends.ts"
import * as EmbeddedCopy from "../../support/EmbeddedCopy.ts"
import { fill, snapshot } from "../../support/Filled.ts"
import * as Postgres from "../../support/Postgres.ts"

const embedded = () => layerNode(EmbeddedCopy.layerClient)
const server = () => layerNode(Postgres.layerClient)
type Node = ReturnType<typeof embedded>

const exported = Effect.gen(function* () {
  const lines: Array<string> = []
  const rows = yield* (yield* Transfer).write((some) => Effect.sync(() => void lines.push(...some)))
  return { lines, rows }
})

const imported = (lines: ReadonlyArray<string>) =>
  Effect.flatMap(Transfer, (transfer) => transfer.read(Stream.fromIterable(lines)))

/** What some work costs of the processor, which does not depend on who else works; the database is in the process. */
const computing = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = process.cpuUsage()
    const value = yield* work
    const { system, user } = process.cpuUsage(before)
    return { value, millis: (system + user) / 1000 }
  })

/** What an import makes of runs that a node was executing. */
const handBack = Effect.flatMap(
  PgClient,
  (sql) => sql`update runs set status = 'PENDING', lease_until = null where status = 'RUNNING'`
)

/** Since when they wait is the moment of the import: the same for all, so that rows can be compared. */
const waitAlike = Effect.flatMap(
  PgClient,
  (sql) => sql`
    update run_executions set waited_since = 'epoch' where cause = 'handed_back' and begun_at is null`
)

const source = Effect.gen(function* () {
  const tables = yield* fill
  const { lines, rows } = yield* exported
  yield* handBack
  yield* waitAlike
  return { tables, lines, rows, content: yield* snapshot }
})

const moves = (from: Node, to: Node) =>
  Effect.gen(function* () {
    const { content, lines, rows, tables } = yield* Effect.provide(source, from, { local: true })
    for (const { name } of tables) assert.isNotEmpty(content.rows[name], name)
    assert.strictEqual(lines.length, rows + 2)
    assert.isTrue(lines.some((line) => line.includes('"RUNNING"')))
    yield* Effect.gen(function* () {
      const sql = yield* PgClient
      const before = yield* snapshot
      assert.strictEqual(yield* imported(lines), rows)
      yield* waitAlike
      const after = yield* snapshot
      assert.deepStrictEqual(after.rows, content.rows)
      assert.deepStrictEqual(after.schema, before.schema)
      const slots = yield* sql`
        select workspace_id, kind, queued, scheduled, running from run_slots
        except select w.id, k.kind, count(r.id) filter (where r.status = 'PENDING' and r.not_before is null),
          count(r.id) filter (where r.status = 'PENDING' and r.not_before is not null),
          count(r.id) filter (where r.status = 'RUNNING')
        from workspaces w cross join (values ('task'), ('turn')) k (kind)
        left join runs r on r.workspace_id = w.id and r.kind = k.kind group by 1, 2`
      assert.deepStrictEqual(slots, [])
      const [next] = yield* sql`
        insert into messages (id, conversation_id, role, content, created_at)
        select 'next', conversation_id, role, content, created_at from messages limit 1
        returning position = (select max(position) + 1 from messages) as "isNext"`
      assert.deepStrictEqual(next, { isNext: true })
    }).pipe(Effect.provide(to, { local: true }))
  })

const firstRun = (lines: ReadonlyArray<string>) =>
  lines.findIndex((line) => line.startsWith('{"table":"runs"'))

/** Lines that are no whole export, and what is said of them. */
const damages: ReadonlyArray<
  readonly [what: string, (lines: Array<string>) => ReadonlyArray<string>, says: RegExp]
> = [
  ["nothing", () => [], /is empty/],
  ["no header", (lines) => lines.slice(1), /no export of agentd/],
  ["another format", (lines) => lines.with(0, '{"agentd":"export","version":2,"schema":5}'), /has format 2/],
  [
    "other tables",
    (lines) => lines.with(0, '{"agentd":"export","version":1,"schema":1}'),
    /made at migration 1,/
  ],
  ["no end", (lines) => lines.slice(0, -1), /cut off/],
  ["a line that is cut", (lines) => lines.with(-2, lines.at(-2)?.slice(0, -9) ?? "").slice(0, -1), /damaged/],
  ["a row too few", (lines) => lines.toSpliced(firstRun(lines), 1), /damaged: \d+ of \d+ rows/],
  ["a row twice", (lines) => lines.toSpliced(firstRun(lines), 0, lines[firstRun(lines)] ?? ""), /refuses/],
  ["no JSON", (lines) => lines.with(firstRun(lines), '{"table":"runs","row":{x}}'), /refuses/],
  [
    "a reference to nothing",
    (lines) => [
      ...lines.filter((line) => !line.startsWith('{"table":"users"')).slice(0, -1),
      JSON.stringify({ rows: lines.filter((line) => !line.startsWith('{"table":"users"')).length - 2 })
    ],
    /refuses: .*foreign key/
  ],
  [
    "an unknown table",
    (lines) => lines.with(1, '{"table":"pg_authid","row":{"a":"b"}}'),
    /no table pg_authid/
  ],
  ["more after the end", (lines) => [...lines, lines[1] ?? ""], /after the last/]
]

const refuses = (node: () => Node) =>
  Effect.gen(function* () {
    const { lines } = yield* Effect.provide(source, node(), { local: true })
    yield* Effect.gen(function* () {
      const empty = yield* snapshot
      for (const [what, damage, says] of damages) {
        const { error } = yield* Effect.flip(imported(damage(lines)))
        assert.match(error, says, what)
        assert.deepStrictEqual(yield* snapshot, empty, what)
      }
      yield* imported(lines)
      const full = yield* snapshot
      const { error } = yield* Effect.flip(imported(lines))
      assert.match(error, /is not empty/)
      assert.deepStrictEqual(yield* snapshot, full)
    }).pipe(Effect.provide(node(), { local: true }))
  })

describe("moving everything", () => {
  it.live("goes from one embedded database to another", () => moves(embedded(), embedded()))
  it.live("refuses what is not whole, and stores nothing of it (embedded)", () => refuses(embedded))

  it.live("reads each row once, and not once for each of its columns", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 400 }, (_, n) => `c${n}`)
      const wide = Effect.flatMap(PgClient, (sql) =>
        sql.unsafe(`create table wide (${names.map((name) => `${name} int`).join(",")})`)
      )
      const written = yield* Effect.gen(function* () {
        const sql = yield* PgClient
        yield* wide
        yield* sql.unsafe(
          `insert into wide select ${names.map(() => "n").join(",")} from generate_series(1, 400) n`
        )
        return yield* computing(exported)
      }).pipe(Effect.provide(embedded(), { local: true }))
      const read = yield* Effect.andThen(wide, computing(imported(written.value.lines))).pipe(
        Effect.provide(embedded(), { local: true })
      )
      assert.strictEqual(read.value, written.value.rows)
      assert.isBelow(read.millis / written.millis, 5)
    })
  )

  it.live("keeps more rows than a page and a batch hold, in their order", () =>
    Effect.gen(function* () {
      const { lines } = yield* Effect.gen(function* () {
        const sql = yield* PgClient
        yield* fill
        yield* sql`
          insert into messages (id, conversation_id, role, content, created_at)
          select 'many_' || lpad((5000 - n)::text, 5, '0'), conversation_id, role, repeat('x', 3000), created_at
          from (select * from messages limit 1) one, generate_series(1, 2000) n`
        return yield* exported
      }).pipe(Effect.provide(embedded(), { local: true }))
      const ids = yield* Effect.gen(function* () {
        yield* imported(lines)
        const sql = yield* PgClient
        return yield* sql<{ id: string }>`select id from messages where id like 'many_%' order by position`
      }).pipe(Effect.provide(embedded(), { local: true }))
      assert.strictEqual(ids.length, 2000)
      assert.deepStrictEqual(
        ids.map(({ id }) => id),
        ids
          .map(({ id }) => id)
          .sort()
          .reverse()
      )
    })
  )
})

const name = "moving everything between the embedded database and PostgreSQL"
describe.skipIf(!Postgres.hasPostgres)(Postgres.hasPostgres ? name : Postgres.skipped(name), () => {
  it.live("goes from embedded to PostgreSQL", () => moves(embedded(), server()))
  it.live("goes from PostgreSQL to embedded", () => moves(server(), embedded()))
  it.live("refuses what is not whole, and stores nothing of it", () => refuses(server))
})
