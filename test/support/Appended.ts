import * as Effect from "effect/Effect"
import type { EventBatch } from "../../src/Schemas/RunEvent.ts"
import type { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import type { Execution } from "../../src/Services/RunRepo.ts"

/** Keeps what one execution told; whether that was done. */
export const append = (
  events: RunEventRepo["Service"],
  execution: Execution,
  batches: ReadonlyArray<EventBatch>,
  firstTokenAt: Date | null = null
) => Effect.map(events.append([{ execution, batches, firstTokenAt }]), ([one]) => one === "kept")
