import { describe, expect, it } from "@effect/vitest"
import { type Answer, compared, costOf } from "../bench/support/Asked.ts"
import { notFlat, type Sample, stepsOf } from "../bench/support/Laws.ts"
import { type Conditions, partOf, replaced } from "../bench/support/Page.ts"
import { answersIn } from "../bench/support/PricedModel.ts"
import { line, quantile, rowLine, toRow, toText } from "../bench/support/Report.ts"
import { reportOf } from "../bench/support/Written.ts"

const sample = (size: number, some: Partial<Sample>): Sample => ({
  size,
  millis: [1],
  statements: 3,
  buffers: 10,
  databaseMillis: 0.1,
  cpuMillis: 0.5,
  readBytes: 1_000,
  ...some
})

describe("quantile", () => {
  const hundred = Array.from({ length: 100 }, (_, n) => 100 - n)
  it.each([
    [hundred, 0, 1],
    [hundred, 0.5, 50],
    [hundred, 0.99, 99],
    [hundred, 1, 100],
    [[3, 1, 2], 0.5, 2],
    [[7], 0.99, 7]
  ] as const)("of %j at %d", (values, share, expected) => {
    expect(quantile(values, share)).toBe(expected)
  })
  it("is none of none", () => {
    expect(quantile([], 0.5)).toBeNaN()
  })
})

describe("a line of a report", () => {
  it.each([
    [8_598, "8,598"],
    [306.4, "306"],
    [22.84, "22.8"],
    [0.4444, "0.444"],
    [0.00012, "0"],
    [0, "0"],
    [Number.NaN, "–"],
    [undefined, "–"],
    ["0.4 to 3 s", "0.4 to 3 s"]
  ] as const)("shows %s as %s", (value, text) => {
    expect(toText(value)).toBe(text)
  })
  it("has the ratio of both", () => {
    const row = toRow({ what: "GET agent", agentd: 3_245, beside: 8_598, unit: "req/s" })
    expect(rowLine(row)).toBe("| GET agent (req/s) | 3,245 | 8,598 | 0.377× |")
  })
  it.each([
    [undefined, "| alone | 3 | – | – |"],
    [0, "| alone | 3 | 0 | – |"],
    ["much", "| alone | 3 | much | – |"]
  ])("has no ratio to %s", (beside, text) => {
    const row = toRow({ what: "alone", agentd: 3, beside })
    expect(row.ratio).toBeNull()
    expect(rowLine(row)).toBe(text)
  })
  it("is one line of as many cells, whatever is in them", () => {
    expect(line("a|b", 1)).toBe("| a\\|b | 1 |")
  })
})

describe("a law of growth", () => {
  it("is the power of the size", () => {
    const points = [10, 100, 10_000].map((size) => ({ size, value: size * 2 }))
    expect(stepsOf(points)).toEqual([
      { from: 10, to: 100, ratio: 10, exponent: 1 },
      { from: 100, to: 10_000, ratio: 100, exponent: 1 }
    ])
  })
  it.each([
    ["nothing", {}, {}, []],
    ["a level of an index more", { buffers: 400 }, { buffers: 600 }, []],
    ["what nobody notices", { millis: [0.1], buffers: 1 }, { millis: [2], buffers: 100 }, []],
    ["buffers", { buffers: 223 }, { buffers: 20_442 }, ["buffers"]],
    ["from nothing", { buffers: 0 }, { buffers: 20_442 }, ["buffers"]],
    ["time", { millis: [10, 9, 900] }, { millis: [30, 29, 31] }, ["millis"]],
    ["what the machine did beside it", { millis: [10, 9, 11] }, { millis: [300, 12, 310] }, []],
    ["what the service reads", {}, { readBytes: 320_000 }, ["readBytes"]]
  ])("is told of %s", (_, few, many, expected) => {
    expect(notFlat([sample(10_000, few), sample(100_000, few), sample(1_000_000, many)])).toEqual(expected)
  })
  it("needs two sizes", () => {
    expect(notFlat([sample(1, { buffers: 1e6 })])).toEqual([])
    expect(notFlat([])).toEqual([])
  })
})

describe("what a program wrote", () => {
  it("is a report", () => {
    const report = {
      name: "x",
      rows: [toRow({ what: "GET", agentd: 1, beside: 4, unit: "req/s", goal: "≥ 0.9×" })]
    }
    const read = reportOf("requests", JSON.parse(JSON.stringify(report)))
    expect(read).toEqual({ ...report, name: "requests", tables: [] })
  })
  it("is a line for each number of both sides", () => {
    const given = [
      {
        what: "GET",
        agentd: { perSecond: 10, cpu: 3 },
        beside: { perSecond: 20, cpu: 1 },
        ratio: 0.5,
        load: 3
      }
    ]
    expect(reportOf("requests", given).rows).toEqual([
      toRow({ what: "GET", agentd: 10, beside: 20, unit: "perSecond" }),
      toRow({ what: "GET", agentd: 3, beside: 1, unit: "cpu" })
    ])
  })
  it("is of texts, and then the ratio is what was written", () => {
    const given = [
      { what: "runs", agentd: "232/s", beside: "329/s", ratio: "0.71×" },
      { what: "alone", agentd: "50", beside: "", ratio: "" }
    ]
    expect(reportOf("runs", given).rows.map(rowLine)).toEqual([
      "| runs | 232/s | 329/s | 0.71× |",
      "| alone | 50 | – | – |"
    ])
  })
  it("has columns of its own", () => {
    const given = [
      { runs: 50, delay: 1.25, rounds: [1] },
      { runs: 250, delay: null, rounds: [] }
    ]
    const table = {
      title: "events",
      head: ["runs", "delay"],
      rows: [
        ["50", "1.25"],
        ["250", "–"]
      ]
    }
    expect(reportOf("events", given)).toEqual({ name: "events", rows: [], tables: [table] })
  })
  it("is nothing", () => {
    for (const given of [[], {}, null, { rows: "none" }])
      expect(() => reportOf("x", given)).toThrow("no lines")
  })
})

describe("the page", () => {
  const conditions: Conditions = {
    command: "npm run bench -- requests",
    commit: "abc",
    at: new Date("2026-11-22T17:05:59Z"),
    minutes: 2.4,
    loadBefore: 0.12,
    loadAfter: 1.5,
    machine: "2 × CPU",
    versions: "Node.js 24",
    durability: "fsync on"
  }
  const rows = [
    toRow({ what: "GET", agentd: 1, beside: 2, unit: "req/s", goal: "≥ 0.9×" }),
    toRow({ what: "runs: list, 10 beside 1", agentd: 1 })
  ]
  const part = partOf({ name: "requests", rows }, conditions)

  it("says how a part was measured, and what came of it", () => {
    expect(part).toBe(`<!-- requests: made by \`npm run bench\` -->
\`npm run bench -- requests\`, 2026-11-22 17:05 UTC, abc, 2 min.
2 × CPU; load 0.1 before, 1.5 after. Node.js 24; fsync on.

| what | agentd | beside | ratio | goal |
| --- | ---: | ---: | ---: | ---: |
| GET (req/s) | 1 | 2 | 0.5× | ≥ 0.9× |
| runs: list, 10 beside 1 | 1 | – | – |  |

<!-- until here -->`)
  })
  it("shows a table in the stead of the rows that it tells better", () => {
    const table = { title: "runs", head: ["what", "1", "10"], rows: [["list", "1 ms", "1 ms"]] }
    const shown = partOf({ name: "requests", rows, tables: [table] }, conditions)
    expect(shown).toContain("runs:\n\n| what | 1 | 10 |\n| --- | ---: | ---: |\n| list | 1 ms | 1 ms |\n")
    expect(shown).not.toContain("runs: list")
    expect(shown).toContain("| GET (req/s) |")
  })
  it("is written anew where that part is, and nowhere else", () => {
    const empty = (name: string) => `<!-- ${name}: made by \`npm run bench\` -->\n<!-- until here -->`
    const page = `# By hand\n${empty("streams")}\nmore\n${empty("requests")}\nthe end\n`
    const written = replaced(page, "requests", part)
    expect(written).toBe(`# By hand\n${empty("streams")}\nmore\n${part}\nthe end\n`)
    expect(replaced(written, "requests", part)).toBe(written)
    expect(() => replaced(page, "growth", part)).toThrow("no place for growth")
  })
})

describe("what a model was asked for", () => {
  const answer = (job: number, step: number, attempt = 0): Answer => ({ job, step, attempt })
  const priced = (given: Answer, tokens: number) => ({
    ...given,
    inputTokens: tokens,
    outputTokens: 2 * tokens,
    nanos: 3 * tokens
  })
  const asked = [priced(answer(1, 0), 1), priced(answer(1, 0, 1), 10), priced(answer(1, 1), 100)]

  it("is kept where a journal has it, and lost else", () => {
    const { again, invented, kept, lost, twice } = compared(asked, [answer(1, 0, 1), answer(1, 1)])
    expect(costOf(kept)).toEqual({ inputTokens: 110, outputTokens: 220, nanos: 330 })
    expect(costOf(lost)).toEqual({ inputTokens: 1, outputTokens: 2, nanos: 3 })
    expect([again, invented, twice]).toEqual([[], [], []])
  })
  it.each([
    ["again, though a journal had it", [answer(1, 0), answer(1, 1)], { again: [asked[1]] }],
    ["never said", [answer(1, 0, 1), answer(2, 0)], { invented: [answer(2, 0)] }],
    ["journaled twice", [answer(1, 0), answer(1, 0, 1)], { twice: [answer(1, 0, 1)] }]
  ])("is found to be %s", (_, journaled, expected) => {
    expect(compared(asked, journaled)).toMatchObject({ again: [], invented: [], twice: [], ...expected })
  })
  it("is known by its own words in a journal", () => {
    const step = JSON.stringify({ text: "answer of job 17, step 3, attempt 2" })
    expect(answersIn([step, "{}"])).toEqual([answer(17, 3, 2), answer(Number.NaN, Number.NaN, Number.NaN)])
  })
})
