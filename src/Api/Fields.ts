import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { ProjectId, WorkspaceId } from "../Schemas/Ids.ts"
import { text } from "../Schemas/Text.ts"
import { wholeNumberOf, wholeNumberPattern } from "../Schemas/WholeNumber.ts"

/** `{"data": …}`, the body of every success (CONTRACT.md section 2). */
export const data = <S extends Schema.Top>(schema: S) => Schema.Struct({ data: schema })

/** 201 `{"data": …}`. */
export const created = <S extends Schema.Top>(schema: S) => data(schema).pipe(HttpApiSchema.status(201))

/** What a deletion answers, as that of a conversation does (specification, Chat). */
export const removed = data(Schema.Struct({ success: Schema.Literal(true) }))

/** The `{id}` of a path. One that no identifier can be is a 404 too, never a 400 (section 2). */
export const pathId = <B extends string>() => text(1, 100) as unknown as Schema.Codec<B, string>

/** A whole number of a query or header in plain digits, within bounds that are refused and not clamped (section 3). */
export const wholeNumber = (minimum: number, maximum: number) =>
  Schema.String.check(
    Schema.makeFilter(
      (text: string) =>
        wholeNumberOf(text, minimum, maximum) === undefined
          ? `must be a whole number from ${minimum} to ${maximum}`
          : undefined,
      { toJsonSchema: () => ({ pattern: wholeNumberPattern }) }
    )
  ).pipe(Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString))

export const workspaceQuery = { workspaceId: WorkspaceId }

/** What every list takes that can be narrowed to a project (section 3). */
export const listQuery = { ...workspaceQuery, projectId: Schema.optionalKey(ProjectId) }
