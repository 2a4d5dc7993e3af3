import { Worker } from "node:worker_threads"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Problem } from "./Problems.ts"
import type { Timed } from "./TimeLimit.ts"

export type Answer = Timed<ReadonlyArray<Problem>>

export interface Question {
  readonly schema: Schema.JsonObject
  readonly value: Schema.Json
  readonly limitMillis: number
}

/** The thread keeps the limit itself. This is for one that starts slowly, or can't keep it. */
const patienceMillis = 10_000
const idleMillis = 60_000

// Bundled, the worker lies beside the chunk that this is part of (scripts/build.mjs).
const workerUrl = new URL(
  import.meta.url.endsWith(".ts") ? "./worker.ts" : "./schema-check-worker.js",
  import.meta.url
)

const makeThread = () => {
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined

  const stop = (stopped: Worker): void => {
    if (worker === stopped) worker = undefined
    void stopped.terminate()
  }

  const start = (): Worker => {
    const started = new Worker(workerUrl, {
      name: "agentd-schema-check",
      // Its memory has no limit but the time: at one of its own, V8 may end the whole process.
      // It needs nothing of this process: neither its options nor the keys in its environment.
      execArgv: [],
      env: {}
    })
    // Told by its end as well.
    started.on("error", () => {})
    started.once("exit", () => {
      if (worker === started) worker = undefined
    })
    return started
  }

  const ask = (question: Question): Promise<Answer> =>
    new Promise((resolve) => {
      clearTimeout(idle)
      worker ??= start()
      const asked = worker
      const end = (answer: Answer) => {
        clearTimeout(patience)
        asked.off("message", end).off("exit", onExit)
        // Neither the thread nor its end is a reason for the process to live on.
        asked.unref()
        idle = setTimeout(() => stop(asked), idleMillis).unref()
        resolve(answer)
      }
      const onExit = () => end({ outcome: "exceeded" })
      const patience = setTimeout(() => stop(asked), patienceMillis)
      asked.ref()
      asked.on("message", end).on("exit", onExit)
      try {
        asked.postMessage(question)
      } catch {
        // Nested too deeply to be sent.
        end({ outcome: "exceeded" })
      }
    })

  const close = (): void => {
    clearTimeout(idle)
    if (worker !== undefined) stop(worker)
  }

  return { ask, close }
}

/**
 * A thread that checks values by schemas, which is started by the first question and ended when there has been none
 * for a minute, or the scope closes. One question at a time: whoever asks waits for the answer before the
 * next.
 */
export const make = Effect.acquireRelease(Effect.sync(makeThread), ({ close }) => Effect.sync(close))
