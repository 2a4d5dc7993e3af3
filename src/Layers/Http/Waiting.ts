import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AnswersRun, Waiting } from "../../Api/Waiting.ts"
import { RunId } from "../../Schemas/Ids.ts"
import { waitOf } from "../../Schemas/Prefer.ts"
import { isSettled, Run, RunDetail, RunStatus } from "../../Schemas/Run.ts"
import { Auth } from "../../Services/Auth.ts"
import { monotonicMillis } from "../../Services/CurrentTime.ts"
import * as DatabaseWait from "../../Services/DatabaseWait.ts"
import * as RequestFacts from "../../Services/RequestFacts.ts"
import { Runs } from "../../Services/Runs.ts"
import { credentialOf } from "./Admission.ts"

const encode = {
  run: Schema.encodeSync(Schema.toCodecJson(Run)),
  detail: Schema.encodeSync(Schema.toCodecJson(RunDetail))
}

const Answered = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Struct({ id: RunId, status: RunStatus }) })
)
const decodeAnswered = Schema.decodeUnknownOption(Answered)

/** The run that an answer is about; none of a refusal. */
const runIn = ({ body, status }: HttpServerResponse.HttpServerResponse) =>
  status >= 200 && status < 300 && body._tag === "Uint8Array"
    ? Option.map(decodeAnswered(utf8.decode(body.body)), ({ data }) => data)
    : Option.none()

const utf8 = new TextDecoder()

/**
 * `Prefer: wait=N` (CONTRACT.md section 11). What the endpoint does is done first, and its answer is held back: the
 * run that it names is waited for without a connection to the database, and answered as it is then, by the rights that
 * the caller has then. A caller who may not read it any more gets what the request gets now, or of a task the answer
 * as it was: it was made, and is not to be sent again. Where too many wait, nobody waits, and the answer does not say
 * `Preference-Applied`.
 */
export const layer = Layer.effect(
  Waiting,
  Effect.gen(function* () {
    const auth = yield* Auth
    const runs = yield* Runs

    const read = Effect.fnUntraced(function* (request: HttpServerRequest, id: RunId) {
      const caller = yield* auth.authenticate(credentialOf(request))
      return yield* runs.get(caller, id)
    }, DatabaseWait.together)

    const wait = Effect.fnUntraced(function* (id: RunId, seconds: number) {
      const since = yield* monotonicMillis
      const facts = yield* RequestFacts.CurrentRequest
      if (facts?.userId === undefined) return false
      const waited = yield* runs.wait(facts.userId, id, seconds * 1_000)
      yield* RequestFacts.tell({ waitedMillis: (yield* monotonicMillis) - since })
      return waited
    })

    return (httpEffect, { endpoint }) => {
      const answers = Context.get(endpoint.annotations, AnswersRun)
      if (answers === undefined) return httpEffect
      const held = Effect.fnUntraced(function* (request: HttpServerRequest, seconds: number) {
        const response = yield* httpEffect
        const run = Option.getOrUndefined(runIn(response))
        if (run === undefined) return response
        const apply = HttpServerResponse.setHeader("preference-applied", `wait=${seconds}`)
        if (isSettled(run.status)) return apply(response)
        if (!(yield* wait(run.id, seconds))) return response
        const found = yield* Effect.option(read(request, run.id))
        if (Option.isNone(found)) return answers === "run" ? apply(response) : yield* httpEffect
        return apply(
          HttpServerResponse.setBody(response, HttpBody.jsonUnsafe({ data: encode[answers](found.value) }))
        )
      })
      return Effect.flatMap(HttpServerRequest, (request) => {
        const seconds = waitOf(request.headers.prefer)
        return seconds == null ? httpEffect : held(request, seconds)
      })
    }
  })
)
