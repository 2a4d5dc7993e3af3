import type { Recovery } from "./messages.ts"
import { type Answer, Thread } from "./thread.ts"

export interface Client {
  readonly onData: (bytes: Uint8Array) => void
  /** The session is gone, and with it whatever was under way. */
  readonly onLost: (error: Error) => void
}

export interface EngineOptions {
  readonly workerUrl: URL
  /** The database folder, which is made when it is missing. */
  readonly directory: string
  /** What a new database is copied from; where it is missing or damaged, PostgreSQL makes the database. */
  readonly template?: string | undefined
  /** A start that gets no further for so long is given up. */
  readonly startLimitMillis: number
  /** A batch that takes longer ends the worker. */
  readonly batchLimitMillis: number
  /** How long a batch may go on whose client is gone. */
  readonly abandonedLimitMillis: number
  readonly closeLimitMillis: number
}

interface Batch {
  readonly client: Client
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly onEnd: (error?: Error) => void
}

const closedError = () => new Error("The embedded PostgreSQL is closed")

/**
 * The embedded PostgreSQL: one worker thread, one session, one batch at a time.
 *
 * A client owns the session from its first batch until it is released; the
 * batches of others wait. The next owner finds a session without anything of
 * the one before. A worker that is gone is started again by the next batch.
 */
export class Engine {
  readonly #options: EngineOptions
  #thread: Thread | undefined
  #starting: Promise<void> | undefined
  #ready = false
  #closed = false
  #owner: Client | undefined
  #lastOwner: Client | undefined
  #queue: Array<Batch> = []
  #running: Batch | undefined
  #limit: ReturnType<typeof setTimeout> | undefined
  #fsyncs = 0
  #wal = 0
  #recovery: Recovery | undefined
  #isRecovered = false
  #endedAt = performance.now()
  /** A batch that takes longer ends the worker. Holds for those that begin from now on. */
  batchLimitMillis: number

  constructor(options: EngineOptions) {
    this.#options = options
    this.batchLimitMillis = options.batchLimitMillis
  }

  /** fsyncs of the present worker, as of its last answer. */
  get fsyncs(): number {
    return this.#fsyncs
  }

  /** How far the WAL was written by the latest answer, as a position; 0 before anything is. */
  get wal(): number {
    return this.#wal
  }

  /** Where the replay of the WAL is, while a start has to do that. */
  get recovery(): Recovery | undefined {
    return this.#recovery
  }

  /** Whether a start had to replay any of it. */
  get isRecovered(): boolean {
    return this.#isRecovered
  }

  /** For how long nobody has asked anything; 0 while somebody does. */
  get quietMillis(): number {
    return this.#running !== undefined || this.#queue.length > 0 ? 0 : performance.now() - this.#endedAt
  }

  /** Resolves when the database answers. */
  start(): Promise<void> {
    if (this.#closed) return Promise.reject(closedError())
    this.#starting ??= this.#launch().catch((error: unknown) => {
      this.#starting = undefined
      throw error
    })
    return this.#starting
  }

  /**
   * Runs whole frames of a client, in the order of their submission. `onEnd` is
   * called once, unless the client is lost or released before.
   */
  submit(client: Client, bytes: Uint8Array<ArrayBuffer>, onEnd: (error?: Error) => void): void {
    this.#queue.push({ client, bytes, onEnd })
    this.#advance()
  }

  /** Forgets a client: what it has queued is dropped, and no answer reaches it any more. */
  release(client: Client): void {
    this.#queue = this.#queue.filter((batch) => batch.client !== client)
    if (this.#owner === client) this.#owner = undefined
    if (this.#running?.client === client) {
      this.#setLimit(this.#options.abandonedLimitMillis, "a query went on after its client had gone")
    }
    this.#advance()
  }

  /** Ends the worker at once, as a crash would, and waits until it is gone. */
  async kill(why: string): Promise<void> {
    this.#thread?.terminate(why)
    await this.#thread?.ended
  }

  /** Shuts PostgreSQL down in order, or after the limit in any case. */
  async close(): Promise<void> {
    this.#closed = true
    this.#failQueue(closedError())
    const thread = this.#thread
    if (thread === undefined) return
    const why = "it was closed"
    if (!this.#ready) return this.kill(why)
    thread.post({ kind: "close" })
    const limit = setTimeout(() => thread.terminate(why), this.#options.closeLimitMillis)
    await thread.ended
    clearTimeout(limit)
  }

  async #launch(): Promise<void> {
    while (!this.#ready) {
      if (this.#closed) throw closedError()
      const { startLimitMillis } = this.#options
      const giveUp = (): void =>
        thread.terminate(`it got no further within ${startLimitMillis / 1000} seconds`)
      let limit = setTimeout(giveUp, startLimitMillis)
      const opening = (recovery: Recovery | undefined): void => {
        this.#recovery = recovery
        this.#isRecovered ||= recovery !== undefined
        clearTimeout(limit)
        limit = setTimeout(giveUp, startLimitMillis)
      }
      const thread = new Thread(
        this.#options.workerUrl,
        { directory: this.#options.directory, template: this.#options.template },
        { opening, answer: (answer) => this.#onAnswer(answer), ended: (why) => this.#onEnded(why) }
      )
      this.#thread = thread
      const opened = thread.opened.finally(() => {
        clearTimeout(limit)
        this.#recovery = undefined
      })
      this.#ready = (await opened) === "ready"
    }
    this.#advance()
  }

  #onAnswer(answer: Answer): void {
    const batch = this.#running
    if (batch === undefined) return
    const wanted = batch.client === this.#owner
    if (answer.kind === "data") {
      if (wanted) batch.client.onData(answer.bytes)
      return
    }
    this.#fsyncs = answer.fsyncs
    this.#wal = Math.max(this.#wal, answer.wal)
    this.#endedAt = performance.now()
    clearTimeout(this.#limit)
    this.#running = undefined
    if (wanted) batch.onEnd()
    this.#advance()
  }

  #onEnded(why: string): void {
    this.#thread = undefined
    if (!this.#ready) return
    clearTimeout(this.#limit)
    this.#ready = false
    this.#starting = this.#running = this.#lastOwner = undefined
    this.#fsyncs = 0
    const owner = this.#owner
    this.#owner = undefined
    if (owner !== undefined) {
      this.#queue = this.#queue.filter((batch) => batch.client !== owner)
      owner.onLost(new Error(`The embedded PostgreSQL stopped: ${why}`))
    }
    this.#advance()
  }

  #advance(): void {
    if (this.#running !== undefined) return
    const index = this.#queue.findIndex((batch) => this.#owner === undefined || batch.client === this.#owner)
    const batch = this.#queue[index]
    if (batch === undefined) return
    if (!this.#ready || this.#thread === undefined) {
      this.start().catch((error: unknown) => this.#failQueue(error as Error))
      return
    }
    this.#queue.splice(index, 1)
    const newSession = batch.client !== this.#lastOwner
    this.#owner = this.#lastOwner = batch.client
    this.#running = batch
    this.#setLimit(this.batchLimitMillis, "a query took too long")
    this.#thread.post({ kind: "batch", bytes: batch.bytes, newSession })
  }

  #failQueue(error: Error): void {
    for (const batch of this.#queue.splice(0)) batch.onEnd(error)
  }

  #setLimit(millis: number, why: string): void {
    clearTimeout(this.#limit)
    this.#limit = setTimeout(() => void this.kill(why), millis)
  }
}
