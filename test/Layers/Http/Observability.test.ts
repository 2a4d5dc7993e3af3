import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { TestClock } from "effect/testing"
import * as ProcessMetrics from "../../../src/Layers/ProcessMetrics.ts"
import * as PoolLoad from "../../../src/Layers/Repo/Postgres/PoolLoad.ts"
import * as Scheduler from "../../../src/Layers/Scheduler.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import * as Metrics from "../../../src/Services/Metrics.ts"
import { readMetrics } from "../../support/Metrics.ts"
import { layerOffline, makeTenant } from "../../support/Service.ts"
import { makeWeb } from "../../support/Web.ts"

const read = (path: string) => readFileSync(resolve(import.meta.dirname, "../../..", path), "utf8")
const page = read("docs/observability.md")
const alertLines = read("docs/observability/alerts.yaml").split("\n")
const dashboard: unknown = JSON.parse(read("docs/observability/dashboard.json"))

/** What a node shows that has done some of everything, at a PostgreSQL and a replica, with webhooks and a collector. */
const shown = Effect.gen(function* () {
  const unused = { get: Effect.never, use: () => Effect.never }
  for (const name of ["work", "lists", "replica"] as const) yield* PoolLoad.make(unused, { name, size: 1 })
  for (const where of ["replica", "primary"]) {
    yield* Metric.update(Metric.withAttributes(Metrics.databaseReads, { where }), 0)
  }
  yield* Metrics.observe(Metrics.replicaLag, {}, () => 0)
  for (const signal of ["traces", "metrics", "logs"]) {
    yield* Metric.update(Metric.withAttributes(Metrics.telemetryDropped, { signal }), 0)
  }
  for (const metric of [Metrics.nodeWebhooks, Metrics.webhookBacklog, Metrics.webhookOldest]) {
    yield* Metrics.observe(metric, {}, () => 0)
  }
  yield* Metric.update(Metrics.webhookSeconds, 1)
  const { send } = yield* makeWeb
  const { token, workspaceId } = yield* makeTenant()
  const post = (path: string, json: object) => send("POST", path, { token, json: { workspaceId, ...json } })
  yield* post("/api/tasks", { prompt: "call current_time {}" })
  yield* post("/api/chat/messages", { content: "Hello" })
  yield* post("/api/cron-jobs", { name: "Each minute", schedule: "* * * * *", prompt: "Hello" })
  yield* send("GET", "/api/agents")
  yield* TestClock.adjust("2 minutes")
  // As of a model whose price nobody knows.
  yield* Metric.update(Metric.withAttributes(Metrics.modelUnpriced, { provider: "offline" }), 0)
  const { text } = yield* send("GET", "/metrics")
  return readMetrics(text)
}).pipe(
  Effect.provide(
    Layer.mergeAll(Engine.layerTasks, Scheduler.layer, ProcessMetrics.layer).pipe(
      Layer.provideMerge(layerOffline()),
      Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map()))
    )
  )
)

type Shown = Effect.Success<typeof shown>

/** Everything that is called so, at any depth. */
const findAll = (value: unknown, key: string): ReadonlyArray<unknown> =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([name, inner]) => [
        ...(name === key ? [inner] : []),
        ...findAll(inner, key)
      ])

const texts = (values: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  values.filter((value) => typeof value === "string")

/** The values of a field of the rules, which is a line each. */
const fieldsOf = (name: string) =>
  alertLines.flatMap((line) => {
    const [, value] = new RegExp(`^\\s+(?:- )?${name}: (.+)$`, "u").exec(line) ?? []
    return value === undefined ? [] : [value]
  })

const queries = {
  dashboard: [...texts(findAll(dashboard, "expr")), ...texts(findAll(dashboard, "definition"))],
  alerts: fieldsOf("expr")
}

/** What Prometheus itself adds. */
const given = ["job", "instance"]

/** What is wrong with a query, if each node shows this. */
const faultsOf = (query: string, { families, samples }: Shown): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const known = new Set(given)
  for (const [, name = "", selector = ""] of query.matchAll(
    /\b((?:agentd|process|nodejs)_\w+)(?:\{([^}]*)\})?/gu
  )) {
    const part = /^(.+)_(?:bucket|sum|count)$/u.exec(name)?.[1]
    const family = families.get(name) ?? families.get(part ?? "")
    if (family === undefined || (family.name !== name) !== (family.type === "histogram")) {
      faults.push(`no metric ${name}`)
      continue
    }
    const labels = [...family.labels].filter((label) => label !== "le" || name.endsWith("_bucket"))
    for (const label of labels) known.add(label)
    for (const [, label = "", operator, value = ""] of selector.matchAll(
      /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/gu
    )) {
      if (given.includes(label)) continue
      if (!labels.includes(label)) faults.push(`no label ${label} of ${name}`)
      const isThere = [...samples.keys()].some(
        (series) => series.startsWith(`${name}{`) && series.includes(`${label}="${value}"`)
      )
      if ((operator === "=" || operator === "!=") && !isThere)
        faults.push(`no ${label}="${value}" of ${name}`)
    }
  }
  for (const [, labels = ""] of query.matchAll(/\b(?:by|without|on) \(([^)]*)\)/gu)) {
    for (const label of labels.split(",").map((text) => text.trim())) {
      if (!known.has(label)) faults.push(`no label ${label}`)
    }
  }
  return faults
}

/** As GitHub and others make them of headings. */
const anchorsOf = (text: string) =>
  Array.from(text.matchAll(/^#+ (.+)$/gmu), ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/gu, "")
      .replaceAll(" ", "-")
  )

describe("what is made for the metrics", () => {
  it.effect("asks for none that there is not, nor for a label", () =>
    Effect.gen(function* () {
      const found = yield* shown
      assert.isAbove(queries.dashboard.length, 40)
      assert.isAbove(queries.alerts.length, 15)
      for (const [file, all] of Object.entries(queries)) {
        for (const query of all) assert.deepStrictEqual(faultsOf(query, found), [], `${file}: ${query}`)
      }
      const wrong =
        'sum by (kind, pool) (rate(agentd_database_runs{kind="job", status="x"}[5m])) + agentd_gone_total + agentd_cron_lag_seconds'
      assert.deepStrictEqual(faultsOf(wrong, found), [
        'no kind="job" of agentd_database_runs',
        "no label status of agentd_database_runs",
        'no status="x" of agentd_database_runs',
        "no metric agentd_gone_total",
        "no metric agentd_cron_lag_seconds",
        "no label pool"
      ])
    })
  )

  it.effect("is told of in docs/observability.md: each metric with its labels, and nothing else", () =>
    Effect.gen(function* () {
      const { families } = yield* shown
      const rows = page.split("\n").filter((line) => /^\| `(agentd|process|nodejs)_/u.test(line))
      const told = rows.map((line) => {
        const [, names = "", type, labels = ""] = line.split("|").map((cell) => cell.trim())
        const name = names.replaceAll("`", "")
        const plain = labels.replaceAll(/: [^;]*/gu, "")
        return [name, type, Array.from(plain.matchAll(/`(\w+)`/gu), ([, label]) => label).sort()]
      })
      const there = Array.from(families.values(), ({ labels, name, type }) => [
        name,
        type,
        [...labels].filter((label) => label !== "le").sort()
      ])
      const byName = (a: ReadonlyArray<unknown>, b: ReadonlyArray<unknown>) =>
        String(a[0]) < String(b[0]) ? -1 : 1
      assert.deepStrictEqual(told.sort(byName), there.sort(byName))
    })
  )
})

describe("the alerts", () => {
  it("are told of in docs/observability.md, each with what to do, in a section that is there", () => {
    const names = fieldsOf("alert")
    assert.strictEqual(new Set(names).size, names.length)
    const rows = page.split("\n").flatMap((line) => /^\| `(Agentd\w+)` \|/u.exec(line)?.[1] ?? [])
    assert.sameMembers(rows, [...names])
    for (const field of ["expr", "for", "severity", "summary", "description", "runbook"]) {
      assert.lengthOf(fieldsOf(field), names.length, field)
    }
    for (const runbook of fieldsOf("runbook")) {
      const [file = "", anchor] = runbook.split("#")
      const anchors = anchorsOf(read(file))
      if (anchor !== undefined) assert.include(anchors, anchor, runbook)
    }
  })
})

describe("the dashboard", () => {
  it("can be imported: panels that have an id each, and lie side by side", () => {
    const { panels, schemaVersion, uid } = dashboard as {
      readonly schemaVersion: number
      readonly uid: string
      readonly panels: ReadonlyArray<{
        readonly id: number
        readonly type: string
        readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
        readonly datasource?: { readonly uid: string }
      }>
    }
    assert.deepStrictEqual([schemaVersion, uid], [39, "agentd"])
    assert.strictEqual(new Set(panels.map(({ id }) => id)).size, panels.length)
    const taken = new Set<string>()
    for (const { datasource, gridPos, id, type } of panels) {
      assert.include(["row", "stat", "timeseries"], type)
      if (type !== "row") assert.strictEqual(datasource?.uid, "$" + "{datasource}")
      assert.isAtMost(gridPos.x + gridPos.w, 24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.isFalse(taken.has(`${x} ${y}`), `panel ${id} lies on another`)
          taken.add(`${x} ${y}`)
        }
      }
    }
  })
})
