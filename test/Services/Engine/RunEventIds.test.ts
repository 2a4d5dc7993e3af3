import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { NumberedEvent } from "../../../src/Schemas/RunEvent.ts"
import { RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { append } from "../../support/Appended.ts"
import { ended, layerFaulty, start } from "../../support/Engine.ts"
import { makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const thinking = (id: number): NumberedEvent => ({
  id,
  event: { event: "status", data: { status: "thinking" } }
})
const leaseMillis = 15_000

describe("ids of events", () => {
  it.effect("are not used again, however many executions told nothing that was kept", () =>
    Effect.gen(function* () {
      const { user, workspaceId } = yield* makeTenant()
      const model = yield* ScriptedModel
      const [events, repo, runs] = [yield* RunEventRepo, yield* RunRepo, yield* Runs]
      model.script = () => Stream.fromIterable(says("at last"))
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      const last = 2_000_007
      // One tells of an answer, the next takes that back, and each is stopped in the middle of its work.
      for (const epoch of [1, 2, 3, 4]) {
        yield* repo.claim({ worker: "gone", leaseMillis, limit: 1, perWorkspace: 8 })
        const execution = { id, worker: "gone", epoch }
        assert.isTrue(yield* events.truncate(execution, 1, last))
        if (epoch === 3) assert.isTrue(yield* append(events, execution, [[thinking(last)]]))
        yield* repo.release("gone", { crashed: false, maxCrashes: 3 })
      }
      yield* start
      assert.deepInclude(yield* ended(id, 100), { status: "COMPLETED", epoch: 5 })
      const told = yield* events.read(id, 0, 100)
      assert.isAbove(told.length, 1)
      assert.isAbove(told[0]?.id ?? 0, last)
    }).pipe(Effect.provide(layerFaulty()))
  )
})
