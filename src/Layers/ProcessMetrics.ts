import { readdirSync } from "node:fs"
import { performance } from "node:perf_hooks"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { version } from "../Schemas/Version.ts"
import { monotonicMillis } from "../Services/CurrentTime.ts"
import { observe } from "../Services/Metrics.ts"

const sampleMillis = 100

const eventLoopDelay = Metric.histogram("event_loop_delay_seconds", {
  description: "How late this process gets to what is due, looked at ten times a second, in seconds",
  boundaries: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
})

const cpu = Metric.counter("process_cpu_seconds_total", {
  description: "User and system CPU time of the process, in seconds",
  incremental: true
})

/** Nothing where the system has no such folder, as only Linux has: then there is no such metric. */
const countFiles = (): number | undefined => {
  try {
    return readdirSync("/proc/self/fd").length
  } catch {
    return undefined
  }
}

const gauges: ReadonlyArray<readonly [name: string, description: string, read: () => number]> = [
  ["process_resident_memory_bytes", "Resident memory of the process", () => process.memoryUsage.rss()],
  [
    "process_start_time_seconds",
    "When the process started, since the epoch",
    () => performance.timeOrigin / 1000
  ],
  ["nodejs_heap_size_used_bytes", "Used heap of the main thread", () => process.memoryUsage().heapUsed],
  ["nodejs_heap_size_total_bytes", "Heap of the main thread", () => process.memoryUsage().heapTotal],
  ...(countFiles() === undefined
    ? []
    : [["process_open_fds", "Open file descriptors", () => countFiles() ?? 0] as const])
]

const buildInfo = Metric.gauge("build_info", { description: "Always 1: which agentd this is, on which Node" })

/** What `/metrics` says of this process, read when somebody asks; of the event loop, while the scope is open. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    for (const [name, description, read] of gauges)
      yield* observe(Metric.gauge(name, { description }), {}, read)
    yield* observe(buildInfo, { version, node: process.versions.node }, () => 1)
    yield* Effect.acquireRelease(
      Effect.contextWith((context: Context.Context<never>) =>
        Effect.sync(() => Metric.registerUnsafe(cpu, context, cpuHooks))
      ),
      (registration) => Effect.sync(registration.remove)
    )
    yield* sample.pipe(Effect.forever, Effect.forkScoped)
  })
)

const cpuHooks: Parameters<typeof Metric.registerUnsafe<number, Metric.CounterState<number>>>[2] = {
  get: () => {
    const { system, user } = process.cpuUsage()
    return { count: (system + user) / 1e6, incremental: true }
  },
  update: () => {},
  modify: () => {}
}

const sample = Effect.gen(function* () {
  const since = yield* monotonicMillis
  yield* Effect.sleep(sampleMillis)
  const late = (yield* monotonicMillis) - since - sampleMillis
  yield* Metric.update(eventLoopDelay, Math.max(0, late) / 1000)
})
