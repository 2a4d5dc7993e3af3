import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as ProcessMetrics from "../../../src/Layers/ProcessMetrics.ts"
import * as Scheduler from "../../../src/Layers/Scheduler.ts"
import { version } from "../../../src/Schemas/Version.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { readMetrics } from "../../support/Metrics.ts"
import { layerOffline, makeTenant } from "../../support/Service.ts"
import { eventually } from "../../support/Until.ts"
import { dataOf, makeWeb } from "../../support/Web.ts"

const served = () =>
  Layer.mergeAll(Engine.layerTasks, Scheduler.layer, ProcessMetrics.layer).pipe(
    Layer.provideMerge(layerOffline()),
    Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map()))
  )

const look = Effect.gen(function* () {
  const { send } = yield* makeWeb
  const { headers, status, text } = yield* send("GET", "/metrics")
  assert.strictEqual(status, 200)
  assert.strictEqual(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
  return { text, ...readMetrics(text) }
})

describe("GET /metrics", () => {
  it.live("shows the process and what it does, before anything has happened", () =>
    Effect.gen(function* () {
      const { samples } = yield* look
      const build = `agentd_build_info{version="${version}",node="${process.versions.node}"}`
      assert.strictEqual(samples.get(build), 1)
      for (const name of [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "nodejs_heap_size_used_bytes",
        "nodejs_heap_size_total_bytes"
      ]) {
        assert.isAbove(samples.get(name) ?? 0, 0, name)
      }
      const zero = [
        ...["COMPLETED", "FAILED", "CANCELLED"].map(
          (status) => `agentd_runs_finished_total{status="${status}"}`
        ),
        ...["done", "error"].map((ending) => `agentd_chat_turns_finished_total{ending="${ending}"}`),
        ...["fired", "overlap", "missed", "agent_inactive", "budget_exceeded", "backfilled"].map(
          (outcome) => `agentd_cron_slots_total{outcome="${outcome}"}`
        ),
        ...["monthlyUsd", "monthlyTokens", "runUsd", "runTokens", "price"].map(
          (limit) => `agentd_budget_refused_calls_total{limit="${limit}"}`
        ),
        'agentd_http_errors_total{code="budget_exceeded"}',
        "agentd_node_budget_waiting",
        ...["task", "turn"].flatMap((kind) => [
          `agentd_leases_expired_total{kind="${kind}"}`,
          `agentd_runs_taken_over_total{kind="${kind}"}`,
          `agentd_node_runs{kind="${kind}"}`,
          `agentd_database_oldest_waiting_seconds{kind="${kind}"}`,
          ...["waiting", "running", "parked"].map(
            (state) => `agentd_database_runs{kind="${kind}",state="${state}"}`
          )
        ])
      ]
      for (const name of zero) assert.strictEqual(samples.get(name), 0, name)
      assert.strictEqual(samples.get('agentd_node_places{kind="task"}'), 256)
      assert.strictEqual(samples.get('agentd_node_places{kind="turn"}'), 256)
      assert.strictEqual(samples.get("agentd_database_up"), 1)
      yield* eventually(
        Effect.map(look, ({ samples }) => (samples.get("agentd_event_loop_delay_seconds_count") ?? 0) > 1),
        "the event loop is looked at"
      )
    }).pipe(Effect.provide(served()))
  )

  it.live("counts requests, runs, turns, tokens and calls, and shows nothing of who they are of", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, user, workspaceId } = yield* makeTenant()
      const post = (path: string, json: object) =>
        send("POST", path, { token, json: { workspaceId, ...json } })
      const { id } = dataOf<{ id: string }>(
        yield* post("/api/tasks", { prompt: 'call current_time {}\ncall recall {"query": 5}' })
      )
      yield* post("/api/chat/messages", { content: "Hello" })
      const completed = 'agentd_runs_finished_total{status="COMPLETED"}'
      yield* eventually(
        Effect.map(look, ({ samples }) => samples.get(completed) === 1),
        "the run is counted"
      )
      yield* send("GET", "/api/agents")
      const { families, samples, text } = yield* look
      const expected: ReadonlyArray<readonly [string, number]> = [
        ['agentd_chat_turns_finished_total{ending="done"}', 1],
        ['agentd_http_requests_total{method="POST",status="200"}', 1],
        ['agentd_http_requests_total{method="POST",status="201"}', 1],
        ['agentd_http_requests_total{method="GET",status="401"}', 1],
        ['agentd_http_errors_total{code="unauthenticated"}', 1],
        ['agentd_model_cost_usd_total{provider="offline"}', 0],
        ['agentd_model_call_seconds_count{provider="offline",outcome="ok"}', 3],
        ['agentd_tool_call_seconds_count{source="builtin",outcome="ok"}', 1],
        ['agentd_tool_call_seconds_count{source="builtin",outcome="error"}', 1]
      ]
      for (const [name, count] of expected) assert.strictEqual(samples.get(name), count, name)
      for (const direction of ["input", "output"]) {
        const name = `agentd_model_tokens_total{provider="offline",direction="${direction}"}`
        assert.isAbove(samples.get(name) ?? 0, 0, name)
      }
      for (const secret of [workspaceId, user.id, user.email, id, "recall"]) {
        assert.notInclude(text, secret)
      }
      const labels = new Set(Array.from(families.values()).flatMap(({ labels }) => [...labels]))
      assert.sameMembers(
        [...labels],
        [
          "code",
          "direction",
          "ending",
          "kind",
          "le",
          "limit",
          "method",
          "node",
          "outcome",
          "provider",
          "reason",
          "source",
          "state",
          "status",
          "version"
        ]
      )
    }).pipe(Effect.provide(served()))
  )
})
