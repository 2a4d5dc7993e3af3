import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { ConnectionError, SqlError, SqlSyntaxError, UnknownError } from "effect/sql/SqlError"
import { Database, layerTransaction } from "../../../src/Layers/Repo/Postgres/Database.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"

const lost = new SqlError({ reason: new ConnectionError({ cause: new Error("gone"), message: "gone" }) })
const bug = new SqlError({ reason: new SqlSyntaxError({ cause: new Error("typo"), message: "typo" }) })

/** What the server answered, as the driver gives it where it has no name of its own for it. */
const answered = (code: string, fields: { readonly severity?: string; readonly routine?: string } = {}) => {
  const { routine, severity = "ERROR" } = fields
  const cause = Object.assign(new Error("x"), { code, routine, severityUnlocalized: severity })
  return new SqlError({ reason: new UnknownError({ cause, message: "x" }) })
}

/** A client whose transactions only run their body. */
const client = { withTransaction: <A, E, R>(effect: Effect.Effect<A, E, R>) => effect }

const layer = layerTransaction.pipe(
  Layer.provideMerge(Database.layer),
  Layer.provide(Layer.succeed(PgClient, client as unknown as PgClient)),
  Layer.provide(Layer.succeed(Settings, Settings.defaults))
)

describe("failures of the database", () => {
  it.live("a connection that is lost is Unavailable, also when it is a defect of a rollback", () =>
    Effect.gen(function* () {
      const { query } = yield* Database
      const transaction = yield* Transaction
      for (const failing of [
        query(Effect.fail(lost)),
        query(Effect.die(lost)),
        transaction.atomically(Effect.fail(lost)),
        transaction.atomically(Effect.die(lost))
      ]) {
        const error = yield* Effect.flip(failing as Effect.Effect<never, unknown>)
        assert.deepInclude(error, { _tag: "Unavailable" })
      }
    }).pipe(Effect.provide(layer))
  )

  it.live.each<[string, SqlError]>([
    ["only reads", answered("25006")],
    ["has ended a session that was idle in a transaction", answered("25P03", { severity: "FATAL" })],
    ["has ended a session for another reason", answered("XX000", { severity: "PANIC" })],
    ["refuses sessions of this database", answered("55000", { severity: "FATAL" })],
    ["does not know the statement that the session had", answered("26000")],
    ["has a statement that the session does not know of", answered("42P05")],
    ["has another plan since a migration", answered("0A000", { routine: "RevalidateCachedQuery" })],
    ["does not know the database at the moment", answered("3D000", { severity: "FATAL" })],
    ["rolled the transaction back", answered("40000")],
    ["can't say whether it was committed", answered("40003")],
    ["is full", answered("53100")],
    ["has too many connections", answered("53300", { severity: "FATAL" })],
    ["starts up", answered("57P03", { severity: "FATAL" })],
    ["has a failure beneath", answered("58000")],
    ["can't read its disk", answered("58030")],
    ["has no snapshot that is so old", answered("72000")]
  ])("a server that %s is Unavailable", ([, failure]) =>
    Effect.gen(function* () {
      const { query } = yield* Database
      const transaction = yield* Transaction
      for (const failing of [query(Effect.fail(failure)), transaction.atomically(Effect.fail(failure))]) {
        assert.deepInclude(yield* Effect.flip(failing as Effect.Effect<never, unknown>), {
          _tag: "Unavailable"
        })
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("a wrong statement and a row that does not decode are defects", () =>
    Effect.gen(function* () {
      const { query } = yield* Database
      const decoding = Schema.decodeUnknownEffect(Schema.String)(5)
      const ours = [
        bug,
        answered("22P02"),
        answered("0A000"),
        answered("25P02"),
        answered("40002"),
        answered("55000"),
        answered("XX000")
      ]
      for (const failing of [...ours.map((error) => query(Effect.fail(error))), query(decoding)]) {
        const exit = yield* Effect.exit(failing as Effect.Effect<unknown>)
        assert.isTrue(exit._tag === "Failure" && exit.cause.reasons[0]?._tag === "Die")
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("failures that mean something pass through", () =>
    Effect.gen(function* () {
      const transaction = yield* Transaction
      assert.strictEqual(yield* Effect.flip(transaction.atomically(Effect.fail("taken" as const))), "taken")
    }).pipe(Effect.provide(layer))
  )
})
