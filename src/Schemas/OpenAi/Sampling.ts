import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Sampling } from "../Inference.ts"
import * as Fields from "./Fields.ts"

const mostStops = 4

/** How the answer is made, as both endpoints name it; what is absent is left to the model. */
export const samplingOf = (given: Schema.JsonObject): Fields.Read<Sampling> =>
  Result.gen(function* () {
    const of = (name: string) => Fields.fieldOf(given, name)
    return defined({
      temperature: yield* Fields.number(0, 2)(of("temperature")),
      topP: yield* Fields.number(0, 1)(of("top_p")),
      maxOutputTokens:
        (yield* tokens(of("max_completion_tokens"))) ??
        (yield* tokens(of("max_output_tokens"))) ??
        (yield* tokens(of("max_tokens"))),
      stop: yield* stopsOf(of("stop")),
      seed: yield* Fields.integer(Number.MIN_SAFE_INTEGER)(of("seed")),
      presencePenalty: yield* Fields.number(-2, 2)(of("presence_penalty")),
      frequencyPenalty: yield* Fields.number(-2, 2)(of("frequency_penalty"))
    })
  })

/** More than any model makes in one answer. */
const tokens = Fields.integer(1, 10_000_000)

const stopsOf = (field: Fields.Field): Fields.Read<ReadonlyArray<string> | undefined> =>
  !Fields.isGiven(field)
    ? Result.succeed(undefined)
    : Array.isArray(field.value)
      ? Fields.list(0, mostStops, stop)(field)
      : Result.map(stop(field), (only) => [only])

const stop = (field: Fields.Field): Fields.Read<string> =>
  Result.flatMap(Fields.requiredAnyText(field), (text) =>
    text.length > 0 && text.length <= 1_000
      ? Result.succeed(text)
      : Fields.refuse(field.name, "must be 1 to 1000 characters")
  )

type Defined<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }

const defined = <A extends object>(given: A): Defined<A> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<A>
