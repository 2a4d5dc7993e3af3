import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import {
  boundTo,
  emptyReport,
  type Place,
  places,
  type SealedText,
  SecretsError,
  type SecretsReport,
  withUnreadable
} from "../Schemas/Secrets.ts"
import * as PlainSecrets from "./PlainSecrets.ts"
import { SealedRepo } from "./SealedRepo.ts"
import { SecretBox } from "./SecretBox.ts"

const pageRows = 100
/** What others change meanwhile is looked at again so often. */
const mostPasses = 5

/** What an operator does with all stored secrets at once (CONTRACT.md section 1, sealing key). */
export class Secrets extends Context.Service<
  Secrets,
  {
    /**
     * Seals with the present key, a new one where `newKey` says so, whatever another one has sealed, or none. A secret at a
     * time: it may break off anywhere, run again, and beside others who do the same or change secrets, whose word is
     * the last. What no key opens stays as it is.
     */
    readonly reseal: (newKey: boolean) => Effect.Effect<SecretsReport, SecretsError | Unavailable>
    /** Opens every stored secret, and changes nothing. */
    readonly check: Effect.Effect<SecretsReport, Unavailable>
  }
>()("agentd/Services/Secrets") {
  static readonly layer = Layer.effect(
    Secrets,
    Effect.gen(function* () {
      const box = yield* SecretBox
      const plain = yield* PlainSecrets.make(Effect.yieldNow)
      const repo = yield* SealedRepo

      /** Hands every stored secret over, some at a time. */
      const fold = Effect.fnUntraced(function* <E>(
        take: (report: SecretsReport, place: Place, text: SealedText) => Effect.Effect<SecretsReport, E>
      ) {
        let report = emptyReport
        for (const place of places) {
          let after: string | null = null
          while (true) {
            const texts: ReadonlyArray<SealedText> = yield* repo.page({ place, after, limit: pageRows })
            for (const text of texts) report = yield* take(report, place, text)
            after = texts.at(-1)?.id ?? null
            if (texts.length < pageRows) break
          }
        }
        return report
      })

      const opened = (place: Place, { id, sealed }: SealedText) =>
        Effect.option(box.open(boundTo(place, id), sealed))

      const resealOne = Effect.fnUntraced(function* (report: SecretsReport, place: Place, text: SealedText) {
        const by = yield* box.sealedBy(text.sealed)
        if (by === "none") return report
        if (by === "current") return { ...report, current: report.current + 1 }
        const secret = yield* opened(place, text)
        if (Option.isNone(secret)) return withUnreadable(report, text.id)
        const sealed = yield* box.seal(boundTo(place, text.id), secret.value)
        const replaced = yield* repo.replace({ place, id: text.id, from: text.sealed, to: sealed })
        // Changed by somebody else meanwhile: the next pass looks at what it is now.
        return replaced
          ? { ...report, resealed: report.resealed + 1 }
          : { ...report, former: report.former + 1 }
      })

      const checkOne = Effect.fnUntraced(function* (report: SecretsReport, place: Place, text: SealedText) {
        const by = yield* box.sealedBy(text.sealed)
        if (by === "none") return report
        if (Option.isNone(yield* opened(place, text))) return withUnreadable(report, text.id)
        return by === "current"
          ? { ...report, current: report.current + 1 }
          : { ...report, former: report.former + 1 }
      })

      const resealAll = Effect.gen(function* () {
        const first = yield* fold(resealOne)
        let { former, resealed } = first
        for (let pass = 2, left = former + resealed; pass <= mostPasses && left > 0; pass++) {
          const again = yield* fold(resealOne)
          former = again.former
          resealed += again.resealed
          left = again.former + again.resealed
        }
        resealed += yield* plain.seal
        return { ...first, resealed, former, plain: yield* plain.count }
      })

      return Secrets.of({
        reseal: Effect.fn("Secrets.reseal")((newKey) =>
          Effect.andThen(newKey ? box.renew : Effect.void, resealAll).pipe(
            Effect.catchTag("SecretBoxError", ({ error }) => Effect.fail(new SecretsError({ error })))
          )
        ),
        check: Effect.gen(function* () {
          const report = yield* fold(checkOne)
          return { ...report, plain: yield* plain.count }
        }).pipe(Effect.withSpan("Secrets.check"))
      })
    })
  )
}
