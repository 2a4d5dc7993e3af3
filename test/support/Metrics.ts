import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

/** The samples of a page in the text format of Prometheus, each by its name and labels as they are written. */
export type Samples = ReadonlyMap<string, number>

const namePattern = "[a-zA-Z_:][a-zA-Z0-9_:]*"
const labelPattern = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
const sampleLine = new RegExp(
  `^(${namePattern})(\\{${labelPattern}(?:,${labelPattern})*\\})? (NaN|[+-]Inf|-?[0-9.]+(?:e[+-]?[0-9]+)?)$`,
  "u"
)
const aboutLine = new RegExp(`^# (HELP|TYPE) (${namePattern}) (.+)$`, "u")

interface Family {
  readonly name: string
  readonly type: string
  readonly labels: Set<string>
}

const seriesOf = (family: Family): ReadonlyArray<string> =>
  family.type === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => family.name + end) : [family.name]

/**
 * Reads a page as strictly as its format is defined: HELP and then TYPE of each family once and before its samples,
 * all samples of a family together and none twice, and buckets that grow up to `+Inf`, which is the count.
 */
export const readMetrics = (page: string) => {
  assert.isTrue(page.endsWith("\n"))
  const samples = new Map<string, number>()
  const families = new Map<string, Family>()
  let help: string | undefined
  let family: Family | undefined
  for (const line of page.slice(0, -1).split("\n")) {
    const [, about, subject = "", value = ""] = aboutLine.exec(line) ?? []
    if (about === "HELP") help = subject
    else if (about === "TYPE") {
      assert.strictEqual(help, subject, `HELP stands before ${line}`)
      assert.include(["counter", "gauge", "histogram"], value, line)
      assert.isFalse(families.has(subject), `${subject} has two families`)
      if (value === "counter") assert.match(subject, /_total$/u)
      family = { name: subject, type: value, labels: new Set() }
      families.set(subject, family)
    } else {
      const [, name = "", labels = "", text] = sampleLine.exec(line) ?? []
      if (text === undefined || family === undefined) return assert.fail(`no line of the format: ${line}`)
      assert.include(seriesOf(family), name, `${name} stands in its family`)
      assert.isFalse(samples.has(name + labels), `${line} is there twice`)
      for (const [label] of labels.matchAll(/[a-zA-Z_]\w*(?==")/gu)) family.labels.add(label)
      samples.set(name + labels, Number(text.replace("Inf", "Infinity")))
    }
  }
  for (const { name, type } of families.values()) if (type === "histogram") checkBuckets(name, samples)
  return { families, samples: samples as Samples }
}

const checkBuckets = (name: string, samples: Samples) => {
  const last = new Map<string, { readonly le: number; readonly count: number }>()
  for (const [series, count] of samples) {
    const [, before = "", bound = ""] =
      new RegExp(`^${name}_bucket\\{(.*,)?le="([^"]+)"\\}$`, "u").exec(series) ?? []
    if (bound === "") continue
    const le = Number(bound.replace("Inf", "Infinity"))
    const former = last.get(before)
    if (former !== undefined) {
      assert.isAbove(le, former.le, series)
      assert.isAtLeast(count, former.count, series)
    }
    last.set(before, { le, count })
  }
  for (const [labels, { count, le }] of last) {
    assert.strictEqual(le, Number.POSITIVE_INFINITY)
    const rest = labels === "" ? "" : `{${labels.slice(0, -1)}}`
    assert.strictEqual(samples.get(`${name}_count${rest}`), count)
    assert.isTrue(samples.has(`${name}_sum${rest}`))
  }
}

/** How many runs and chat turns have ended, by how, as this process has counted. */
export const endsCounted: Effect.Effect<Readonly<Record<string, number>>> = Effect.map(
  Metric.snapshot,
  (found) =>
    Object.fromEntries(
      found.flatMap(({ attributes, id, state }) =>
        id === "runs_finished_total" || id === "chat_turns_finished_total"
          ? [[attributes?.status ?? attributes?.ending ?? "", "count" in state ? Number(state.count) : 0]]
          : []
      )
    )
).pipe(Effect.map((counted) => ({ COMPLETED: 0, FAILED: 0, CANCELLED: 0, done: 0, error: 0, ...counted })))
