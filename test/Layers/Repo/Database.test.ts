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
const starting = new SqlError({
  reason: new UnknownError({
    cause: Object.assign(new Error("starting up"), { code: "57P03" }),
    message: "x"
  })
})
const full = new SqlError({
  reason: new UnknownError({ cause: Object.assign(new Error("too many"), { code: "53300" }), message: "x" })
})
const bug = new SqlError({ reason: new SqlSyntaxError({ cause: new Error("typo"), message: "typo" }) })

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
        query(Effect.fail(starting)),
        query(Effect.fail(full)),
        transaction.atomically(Effect.fail(lost)),
        transaction.atomically(Effect.die(lost))
      ]) {
        const error = yield* Effect.flip(failing as Effect.Effect<never, unknown>)
        assert.deepInclude(error, { _tag: "Unavailable" })
      }
    }).pipe(Effect.provide(layer))
  )

  it.live("a wrong statement and a row that does not decode are defects", () =>
    Effect.gen(function* () {
      const { query } = yield* Database
      const decoding = Schema.decodeUnknownEffect(Schema.String)(5)
      for (const failing of [query(Effect.fail(bug)), query(decoding)]) {
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
