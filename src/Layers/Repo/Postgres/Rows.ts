import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** Decodes every row of a statement. */
export const rows = <S extends Schema.ConstraintCodec<unknown, unknown, never, never>>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(schema))
  return <E>(statement: Effect.Effect<ReadonlyArray<unknown>, E>) => Effect.flatMap(statement, decode)
}

export const firstRow = <S extends Schema.ConstraintCodec<unknown, unknown, never, never>>(schema: S) => {
  const decode = rows(schema)
  return <E>(statement: Effect.Effect<ReadonlyArray<unknown>, E>) =>
    Effect.map(decode(statement), (decoded) => Option.fromNullishOr(decoded[0]))
}

/** Decodes the row of a statement that always returns one. */
export const onlyRow = <S extends Schema.ConstraintCodec<unknown, unknown, never, never>>(schema: S) => {
  const decode = firstRow(schema)
  return <E>(statement: Effect.Effect<ReadonlyArray<unknown>, E>) =>
    Effect.flatMap(decode(statement), (row) =>
      Option.isSome(row) ? Effect.succeed(row.value) : Effect.die(new Error("a statement returned no row"))
    )
}

const counted = onlyRow(Schema.Struct({ count: Schema.Int }))

export const count = <E>(statement: Effect.Effect<ReadonlyArray<unknown>, E>) =>
  Effect.map(counted(statement), (row) => row.count)

/** Whether a statement returned a row: what a guarded write did. */
export const returnedRow = <E>(statement: Effect.Effect<ReadonlyArray<unknown>, E>) =>
  Effect.map(statement, (returned) => returned.length > 0)
