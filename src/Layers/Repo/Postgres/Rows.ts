import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** Decodes every row of a statement. */
export const rows = <S extends Schema.ConstraintCodec<unknown, unknown, never, never>>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(schema))
  return <E>(statement: Effect.Effect<ReadonlyArray<unknown>, E>) => Effect.flatMap(statement, decode)
}

/** Decodes the first row, if there is one. */
export const firstRow = <S extends Schema.ConstraintCodec<unknown, unknown, never, never>>(schema: S) => {
  const decode = rows(schema)
  return <E>(statement: Effect.Effect<ReadonlyArray<unknown>, E>) =>
    Effect.map(decode(statement), (decoded) => Option.fromNullishOr(decoded[0]))
}

/** Whether a statement returned a row: what a guarded write did. */
export const returnedRow = <E>(statement: Effect.Effect<ReadonlyArray<unknown>, E>) =>
  Effect.map(statement, (returned) => returned.length > 0)
