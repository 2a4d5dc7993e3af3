import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readTraceparent } from "../../src/Schemas/TraceContext.ts"
import { layerAtRest } from "../support/Service.ts"
import { attributesOf, makeTraces, parentOf } from "../support/Traces.ts"
import { makeSubject, setTime, start } from "./Schedulers.ts"

describe("the trace of a slot", () => {
  it.effect("begins with it, and is another of each; looks that find nothing are in none", () => {
    const traces = makeTraces()
    return Effect.gen(function* () {
      const { make, runsOf, workspaceId } = yield* makeSubject
      yield* start
      const jobs = [yield* make({ prompt: "xyzzy" }), yield* make({ prompt: "xyzzy" })]
      const before = traces.spans().length
      yield* setTime("2026-11-20T09:00:00.000Z")
      const fires = traces.named(/^cron/)
      assert.deepStrictEqual(
        traces
          .spans()
          .slice(before)
          .filter((span) => parentOf(span) === undefined),
        fires
      )
      assert.strictEqual(new Set(fires.map(({ traceId }) => traceId)).size, 2)
      for (const job of jobs) {
        const [run] = yield* runsOf(job)
        const { spanId, traceId } = readTraceparent(run?.traceparent) ?? {}
        const fire = fires.find((span) => span.spanId === spanId)
        assert.strictEqual(fire?.traceId, traceId)
        assert.deepStrictEqual(attributesOf(fire), {
          "agentd.run.id": run?.id,
          "agentd.workspace.id": workspaceId,
          "agentd.cron_job.id": job.id,
          "agentd.cron.scheduled_at": "2026-11-20T09:00:00.000Z"
        })
      }
      assert.notInclude(traces.shown(), "xyzzy")
    }).pipe(Effect.provide(layerAtRest()), Effect.provide(traces.layer))
  })

  it.effect("is none where no spans are made", () => {
    const traces = makeTraces({ tracing: false })
    return Effect.gen(function* () {
      const { make, runsOf } = yield* makeSubject
      yield* start
      const job = yield* make()
      yield* setTime("2026-11-20T09:00:00.000Z")
      assert.deepStrictEqual(
        (yield* runsOf(job)).map(({ traceparent }) => traceparent),
        [null]
      )
      assert.deepStrictEqual(traces.made, [])
    }).pipe(Effect.provide(layerAtRest()), Effect.provide(traces.layer))
  })
})
