import * as Effect from "effect/Effect"
import { jsonValueOf, notJson, type Unfit } from "../../Schemas/FormattedAnswer.ts"
import type { AnswerFormat } from "../../Schemas/Inference.ts"
import type { JournalStep } from "../../Schemas/Journal.ts"
import { SchemaCheck } from "../SchemaCheck.ts"

type Answer = Extract<JournalStep, { type: "model" }>

const fits = undefined

/**
 * Says with an answer whether it fits its format, so that this is journaled with it, and the same for whoever goes on
 * behind it. One that calls tools is no answer yet, and one that was cut off is told as far as it came.
 */
export const make = Effect.gen(function* () {
  const { check } = yield* SchemaCheck

  const unfitOf = Effect.fnUntraced(function* (
    owner: string,
    { schema }: AnswerFormat,
    text: string,
    isFinal: boolean
  ): Effect.fn.Return<Unfit | undefined> {
    const value = jsonValueOf(text)
    if (value === undefined) return { error: notJson, isFinal }
    if (schema === null) return fits
    const checked = yield* check({ owner, schema, value, name: "the answer" })
    switch (checked.outcome) {
      case "fits":
        return fits
      case "unfit":
        return { error: checked.error, isFinal }
      // No other answer would be better.
      case "late":
        return { error: "it could not be checked by its JSON Schema in time", isFinal: true }
      case "unusable":
        return { error: "its JSON Schema can't be evaluated", isFinal: true }
    }
  })

  return Effect.fnUntraced(function* (owner: string, format: AnswerFormat, answer: Answer, isFinal: boolean) {
    if (answer.truncated !== undefined || answer.toolCalls.length > 0) return answer
    const unfit = yield* unfitOf(owner, format, answer.text, isFinal)
    return unfit === undefined ? answer : { ...answer, unfit }
  })
})
