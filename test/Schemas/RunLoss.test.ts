import { assert, describe, it } from "@effect/vitest"
import { RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { newRun, type StoredRun } from "../../src/Schemas/Run.ts"
import { loseWorker } from "../../src/Schemas/RunLoss.ts"

const at = new Date(60_000)

const run: StoredRun = {
  ...newRun({
    id: RunId.make("run"),
    workspaceId: WorkspaceId.make("workspace"),
    prompt: "Work",
    createdAt: new Date(0)
  }),
  status: "RUNNING",
  attempts: 3,
  epoch: 4
}

const lose = (losses: number, epochs: ReadonlyArray<number> = []) =>
  loseWorker({ run, losses, steps: epochs.map((epoch) => ({ epoch })), maxCrashes: 3, at })

describe("a run that loses its worker", () => {
  it.each([
    [0, 1],
    [1, 2]
  ])("goes on after %s losses, and %s are counted", (before, losses) => {
    assert.deepStrictEqual(lose(before), { losses, failed: null })
  })

  it("is over once too often, and says why", () => {
    assert.deepStrictEqual(lose(2), {
      losses: 3,
      failed: {
        ...run,
        status: "FAILED",
        error: "the worker was lost 3 times while it ran this",
        errorCode: "worker_lost",
        finishedAt: at,
        updatedAt: at
      }
    })
  })

  it("starts to count again with a step of the execution that was lost", () => {
    assert.deepStrictEqual(lose(2, [1, 4]), { losses: 1, failed: null })
  })

  it("goes on counting when its steps are of executions before", () => {
    assert.strictEqual(lose(2, [1, 3]).failed?.status, "FAILED")
  })
})
