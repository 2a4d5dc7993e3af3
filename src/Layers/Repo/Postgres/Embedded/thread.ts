import { Worker } from "node:worker_threads"
import { exitCodes, type Recovery, type Reply, type Request, type WorkerOptions } from "./messages.ts"

export type Answer = Extract<Reply, { readonly kind: "data" | "end" }>

const exitReason = (code: number): string => {
  switch (code) {
    case exitCodes.diskFailed:
      return "the disk refused an fsync"
    case exitCodes.aborted:
      return "PostgreSQL aborted"
    default:
      return `its thread ended with code ${code}`
  }
}

/** One life of the worker thread. */
export class Thread {
  /** `made` when there was no database folder: it is there now, and the thread has ended. */
  readonly opened: Promise<"ready" | "made">
  /** Resolves, never rejects, when nothing of the thread runs any more. */
  readonly ended: Promise<void>
  readonly #worker: Worker
  #why: string | undefined

  constructor(
    url: URL,
    workerData: WorkerOptions,
    on: {
      readonly opening: (recovery: Recovery | undefined) => void
      readonly answer: (answer: Answer) => void
      readonly ended: (why: string) => void
    }
  ) {
    const worker = new Worker(url, { workerData, execArgv: [], name: "agentd-postgres" })
    this.#worker = worker
    this.ended = new Promise((resolve) => worker.once("exit", () => resolve()))
    this.opened = new Promise((resolve, reject) => {
      let made = false
      worker.on("message", (reply: Reply) => {
        switch (reply.kind) {
          case "opening":
            return on.opening(reply.recovery)
          case "ready":
            return resolve("ready")
          case "made":
            made = true
            return this.terminate("it has made the database folder")
          case "failed":
            return this.terminate(reply.reason)
          case "closed":
            return this.terminate("it was closed")
          default:
            return on.answer(reply)
        }
      })
      worker.on("error", (error) => {
        this.#why ??= error instanceof Error ? error.message : String(error)
      })
      worker.on("exit", (code) => {
        const why = this.#why ?? exitReason(code)
        if (made) resolve("made")
        else reject(new Error(why))
        on.ended(why)
      })
    })
  }

  post(request: Request): void {
    this.#worker.postMessage(request, request.kind === "batch" ? [request.bytes.buffer] : [])
  }

  /** Ends the thread at once, wherever it is, as a crash would. */
  terminate(why: string): void {
    this.#why ??= why
    void this.#worker.terminate()
  }
}
