import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type { StoredMetadata } from "../Schemas/Secrets.ts"
import * as SealedMetadata from "./SealedMetadata.ts"
import { SealedRepo } from "./SealedRepo.ts"

const pageRows = 100
const pauseMillis = 50
/** Nodes of a version before may store more of them while a new version is rolled out. */
const againEvery = "1 hour"

/** Secrets of connectors that versions before have stored without sealing them; `pause` is between pages. */
export const make = Effect.fnUntraced(function* (pause: Effect.Effect<void>) {
  const repo = yield* SealedRepo
  const seals = yield* SealedMetadata.make

  /** Hands over all that holds some, a page at a time. */
  const fold = Effect.fnUntraced(function* <A, E>(
    first: A,
    take: (before: A, found: StoredMetadata, metadata: Schema.JsonObject) => Effect.Effect<A, E>
  ) {
    let result = first
    let after: string | null = null
    while (true) {
      const page: ReadonlyArray<StoredMetadata> = yield* repo.metadata({ after, limit: pageRows })
      for (const found of page) {
        const metadata = JSON.parse(found.metadata) as Schema.JsonObject
        if (SealedMetadata.isPlain(metadata)) result = yield* take(result, found, metadata)
      }
      after = page.at(-1)?.id ?? null
      if (page.length < pageRows) return result
      yield* pause
    }
  })

  return {
    /** Of how many connectors. */
    count: fold(0, (count) => Effect.succeed(count + 1)),
    /**
     * Seals them, one connector at a time: it may break off anywhere, run again, and beside others. What somebody
     * changes meanwhile stays as they left it. Fails with the first where there is no key.
     */
    seal: fold(0, (count, { id, metadata: from }, metadata) =>
      Effect.gen(function* () {
        const to = yield* seals.stored(id, metadata)
        const done = to !== undefined && (yield* repo.replaceMetadata({ id, metadata: from, to }))
        return done ? count + 1 : count
      })
    )
  }
})

/** Seals them at a start, and looks again each hour. Without a key they stay as they are, which the log tells. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const plain = yield* make(Effect.sleep(pauseMillis))
    const pass = plain.seal.pipe(
      Effect.tap((connectors) =>
        connectors === 0
          ? Effect.void
          : Effect.annotateLogs(Effect.logInfo("secrets of connectors are sealed now"), { connectors })
      ),
      Effect.catchTag("SecretBoxError", ({ error }) =>
        Effect.flatMap(plain.count, (connectors) =>
          Effect.annotateLogs(Effect.logWarning("secrets of connectors are not sealed"), {
            connectors,
            error
          })
        )
      )
    )
    yield* pass.pipe(
      Effect.ignoreCause({ log: "Warn", message: "connectors not looked through for secrets" }),
      Effect.andThen(Effect.sleep(againEvery)),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
