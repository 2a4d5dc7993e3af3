import * as Effect from "effect/Effect"
import type { SealedSample } from "../../src/Schemas/SealedSample.ts"
import { SealedRepo } from "../../src/Services/SealedRepo.ts"

/** What a start looks at, and nothing else. */
export const samplesAlone = (samples: ReadonlyArray<SealedSample>) =>
  SealedRepo.of({
    samples: Effect.succeed(samples),
    page: () => Effect.die("no page is read at a start"),
    replace: () => Effect.die("nothing is replaced at a start"),
    metadata: () => Effect.die("no metadata is read at a start"),
    replaceMetadata: () => Effect.die("no metadata is replaced at a start")
  })
