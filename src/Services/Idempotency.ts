import * as Context from "effect/Context"
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { InvalidInput, type Unavailable } from "../Schemas/Errors.ts"
import {
  IdempotencyConflict,
  IdempotencyInProgress,
  KeptAnswer,
  mostAnswerBytes,
  type StoredIdempotencyKey
} from "../Schemas/Idempotency.ts"
import type { RunId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Caller } from "../Schemas/Token.ts"
import { roleOf } from "./Access.ts"
import { IdempotencyRepo } from "./IdempotencyRepo.ts"
import * as RequestFacts from "./RequestFacts.ts"
import { SecretBox } from "./SecretBox.ts"
import { Settings } from "./Settings.ts"
import { Transaction } from "./Transaction.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/** A request with a key. */
export interface Keyed {
  readonly caller: Caller
  readonly method: string
  readonly path: string
  readonly key: string
  /** What is asked, as `requestText` writes it. */
  readonly request: string
  readonly keeping: "within" | "sealed" | "behind"
}

/** What came of a request: its answer, or the turn whose events are the answer. */
export type Performed = { readonly answer: KeptAnswer } | { readonly turnId: RunId }

type Refused = IdempotencyConflict | IdempotencyInProgress | InvalidInput | Unavailable

/** Does what is asked with a key once (CONTRACT.md section 9). */
export class Idempotency extends Context.Service<
  Idempotency,
  {
    /**
     * Performs a request, or gives what came of it before (`isReplayed`). A key is one of a user, method and path. What is
     * performed and the key are one transaction: where it fails, or the process dies at any moment, there is neither.
     * Kept `behind`, there may be an effect without its key, and two at once may both be performed; both give
     * what the first kept. Of an answer that is `sealed` another token of the user is another request: what a token
     * makes ends with it. Who is no member any more of the workspace that the request was about gets what the request gets
     * now, which is no answer.
     */
    readonly once: <E, R>(
      keyed: Keyed,
      perform: Effect.Effect<Performed, E, R>
    ) => Effect.Effect<{ readonly performed: Performed; readonly isReplayed: boolean }, E | Refused, R>
  }
>()("agentd/Services/Idempotency") {
  static readonly layer = Layer.effect(
    Idempotency,
    Effect.gen(function* () {
      const digest = yield* Effect.provide(Digest.Digest, Digest.layerWebCrypto)
      const { keep, recall } = yield* makeKeeping
      const repo = yield* IdempotencyRepo
      const transaction = yield* Transaction

      const digestOf = (...parts: ReadonlyArray<string>) =>
        Effect.map(
          Effect.orDie(digest.digest(Digest.sha256, new TextEncoder().encode(JSON.stringify(parts)))),
          Hex.encode
        )

      const within = <E, R>(known: Known, perform: Effect.Effect<Performed, E, R>) =>
        transaction.atomically(
          Effect.gen(function* () {
            const taken = yield* repo.take(known.id)
            if (!taken.isFree) return yield* inProgress
            if (Option.isSome(taken.known)) return yield* recall(known, taken.known.value, perform)
            const performed = yield* perform
            if (!(yield* keep(known, performed))) return yield* inProgress
            return { performed, isReplayed: false }
          })
        )

      const behind = <E, R>(known: Known, perform: Effect.Effect<Performed, E, R>) =>
        Effect.gen(function* () {
          const before = yield* repo.find(known.id)
          if (Option.isSome(before)) return yield* recall(known, before.value, perform)
          const performed = yield* perform
          if (yield* keep(known, performed)) return { performed, isReplayed: false }
          const other = yield* repo.find(known.id)
          return Option.isSome(other)
            ? yield* recall(known, other.value, perform)
            : { performed, isReplayed: false }
        })

      return Idempotency.of({
        once: <E, R>(keyed: Keyed, perform: Effect.Effect<Performed, E, R>) =>
          Effect.gen(function* () {
            const { caller, keeping, key, method, path, request } = keyed
            const known: Known = {
              keyed,
              id: yield* digestOf(caller.id, method, path, key),
              request: yield* digestOf(request, keeping === "sealed" ? caller.token.id : "")
            }
            return yield* keeping === "behind" ? behind(known, perform) : within(known, perform)
          })
      })
    })
  )
}

/** A key by its digest, and the digest of what is asked with it now. */
interface Known {
  readonly keyed: Keyed
  readonly id: string
  readonly request: string
}

const encode = Schema.encodeSync(Schema.fromJsonString(KeptAnswer))
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(KeptAnswer))

/** How what came of a request is written down, and given again. */
const makeKeeping = Effect.gen(function* () {
  const box = yield* SecretBox
  const repo = yield* IdempotencyRepo
  const { idempotencyMillis } = yield* Settings
  const workspaces = yield* WorkspaceRepo

  const seal = (id: string, text: string) =>
    Effect.mapError(
      box.seal(id, Redacted.make(text)),
      ({ error }) => new InvalidInput({ error: `Idempotency-Key: its answer shows a secret: ${error}` })
    )
  const open = (id: string, sealed: string) =>
    Effect.mapBoth(box.open(id, sealed), {
      onSuccess: Redacted.value,
      onFailure: () => conflict("its request was done, and its answer can't be opened any more")
    })

  const isMember = (caller: Caller, workspaceId: WorkspaceId) =>
    Effect.andThen(
      RequestFacts.tell({ workspaceId }),
      Effect.map(roleOf(workspaces, workspaceId, caller.id), Option.isSome)
    )

  return {
    /** False where somebody else was faster. */
    keep: Effect.fnUntraced(function* ({ id, keyed, request }: Known, performed: Performed) {
      const nothing = { answer: null, sealed: null, turnId: null }
      const facts = yield* RequestFacts.CurrentRequest
      const key = {
        id,
        request,
        userId: keyed.caller.id,
        workspaceId: facts?.workspaceId ?? null,
        ...nothing
      }
      if ("turnId" in performed) {
        return yield* repo.insert({ ...key, turnId: performed.turnId }, idempotencyMillis)
      }
      const text = encode(performed.answer)
      if (new TextEncoder().encode(text).length > mostAnswerBytes) {
        return yield* repo.insert(key, idempotencyMillis)
      }
      const kept = keyed.keeping === "sealed" ? { sealed: yield* seal(id, text) } : { answer: text }
      return yield* repo.insert({ ...key, ...kept }, idempotencyMillis)
    }),
    recall: Effect.fnUntraced(function* <E, R>(
      known: Known,
      stored: StoredIdempotencyKey,
      perform: Effect.Effect<Performed, E, R>
    ) {
      const { answer, sealed, turnId, workspaceId } = stored
      if (stored.request !== known.request) return yield* conflict("was used for another request")
      if (workspaceId !== null && !(yield* isMember(known.keyed.caller, workspaceId))) {
        yield* perform
        return yield* conflict("its request was done, in a workspace of which you are no member any more")
      }
      if (turnId !== null) return { performed: { turnId }, isReplayed: true }
      const text = sealed === null ? answer : yield* open(known.id, sealed)
      if (text === null) {
        return yield* conflict("its request was done, and its answer was too large to be kept")
      }
      return { performed: { answer: yield* Effect.orDie(decode(text)) }, isReplayed: true }
    })
  }
})

const conflict = (problem: string) => new IdempotencyConflict({ error: `Idempotency-Key: ${problem}` })

const inProgress = Effect.suspend(
  () =>
    new IdempotencyInProgress({
      error: "Idempotency-Key: the first request with it is still at work; try again",
      retryAfter: 1
    })
)
