import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import * as Schema from "effect/Schema"
import { Api } from "../../src/Api/Api.ts"
import { Timestamp } from "../../src/Schemas/Timestamp.ts"

const Answer = Schema.Struct({ id: Schema.String, n: Schema.Int, at: Timestamp })
const encode = (answer: object) =>
  Schema.encodeUnknownSync(
    Schema.toCodecJson(Answer),
    Context.getOrUndefined(
      Api.annotations as Context.Context<HttpApi.SuccessParseOptions>,
      HttpApi.SuccessParseOptions
    )
  )(answer)
const good = { id: "a", n: 1, at: new Date(0) }

describe("an answer that is not checked again", () => {
  it("has its fields and no others", () => {
    assert.deepStrictEqual(encode({ ...good, secret: "s" }), {
      id: "a",
      n: 1,
      at: "1970-01-01T00:00:00.000Z"
    })
  })

  it.each([
    ["a field is missing", { id: "a", n: 1 }],
    ["a field is undefined", { ...good, id: undefined }],
    ["a field is of another type", { ...good, n: "1" }],
    ["a time is none", { ...good, at: new Date(Number.NaN) }]
  ])("does not go out where %s", (_, answer) => {
    assert.throws(() => encode(answer))
  })
})
