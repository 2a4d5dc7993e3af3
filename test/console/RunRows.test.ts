import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import * as RunRows from "../../console/src/views/Runs/RunRows.ts"
import { Run, type RunStatus } from "../../src/Schemas/Run.ts"

const decode = Schema.decodeUnknownSync(Schema.toCodecJson(Run))

const run = (number: number, status: RunStatus = "COMPLETED") => {
  const at = new Date(number * 1_000).toISOString()
  return decode({
    id: `run_${String(number).padStart(5, "0")}`,
    workspaceId: "ws_1",
    projectId: null,
    status,
    prompt: `task ${number}\nand more`,
    output: "a long output",
    createdAt: at,
    updatedAt: at
  })
}

/** The newest runs from number `from` down to `to`. */
const page = (from: number, to: number, total = 1_000) => ({
  data: Array.from({ length: from - to + 1 }, (_, index) => run(from - index)),
  total
})

const numbers = (rows: ReadonlyArray<RunRows.Row>) => rows.map(({ id }) => Number(id.slice(4)))
const down = (from: number, to: number) => numbers(page(from, to).data.map(RunRows.toRow))

const list = RunRows.append(RunRows.first(page(100, 81), 20), page(80, 61), 20)

describe("the rows of the list of runs", () => {
  it("keep the first line of a prompt alone", () => {
    expect(RunRows.toRow(run(7))).toEqual({
      id: "run_00007",
      status: "COMPLETED",
      line: "task 7",
      createdAt: new Date(7_000),
      updatedAt: new Date(7_000)
    })
  })

  it("grow page by page, each run once, until a page is not full", () => {
    expect(numbers(list.rows)).toEqual(down(100, 61))
    expect(list.isWhole).toBe(false)
    const more = RunRows.append(list, page(62, 55), 20)
    expect(numbers(more.rows)).toEqual(down(100, 55))
    expect(more.isWhole).toBe(true)
  })

  it("are at most as many as are kept", () => {
    const most = RunRows.append(RunRows.first(page(20_500, 20_401), 100), page(20_400, 1), 100)
    expect(most.rows).toHaveLength(RunRows.mostRows)
  })

  it("show new runs and new states at the top, and keep the rest", () => {
    const newest = page(103, 94, 1_003)
    const changed = {
      ...newest,
      data: [...newest.data.slice(0, 3), run(100, "FAILED"), ...newest.data.slice(4)]
    }
    const next = RunRows.refresh(list, changed, 10, false)
    expect(numbers(next.rows)).toEqual(down(103, 61))
    expect(next.rows[3]?.status).toBe("FAILED")
    expect(next.total).toBe(1_003)
  })

  it("lose what no longer matches", () => {
    const newest = { data: page(100, 90).data.filter(({ id }) => id !== "run_00095"), total: 999 }
    const next = RunRows.refresh(list, newest, 10, false)
    expect(numbers(next.rows)).toEqual([...down(100, 96), ...down(94, 61)])
    expect(RunRows.refresh(list, { data: [], total: 0 }, 10, false).rows).toEqual([])
  })

  it("hold new runs back while somebody reads below, until they are wanted", () => {
    const held = RunRows.refresh(list, page(103, 94), 10, true)
    expect(numbers(held.rows)).toEqual(down(100, 61))
    expect(numbers(held.held)).toEqual(down(103, 101))
    const more = RunRows.refresh(held, page(105, 96), 10, true)
    expect(numbers(more.held)).toEqual(down(105, 101))
    expect(numbers(RunRows.show(more).rows)).toEqual(down(105, 61))
  })

  it("begin anew where more runs came than a page has", () => {
    expect(numbers(RunRows.refresh(list, page(150, 141), 10, false).rows)).toEqual(down(150, 141))
    const held = RunRows.refresh(list, page(150, 141), 10, true)
    expect(numbers(held.rows)).toEqual(down(100, 61))
    expect(numbers(held.held)).toEqual(down(150, 141))
    const shown = RunRows.show(RunRows.refresh(held, page(152, 143), 10, true))
    expect(numbers(shown.rows)).toEqual(down(152, 141))
    expect(shown.isWhole).toBe(false)
  })

  it("change states further down", () => {
    const part = { data: [run(79, "FAILED"), run(78), run(76)], total: 999 }
    const next = RunRows.refreshBehind(list, run(80).id, part, 3)
    expect(numbers(next.rows)).toEqual([...down(100, 78), ...down(76, 61)])
    expect(next.rows[21]?.status).toBe("FAILED")
    expect(RunRows.refreshBehind(list, run(7).id, part, 3)).toBe(list)
  })
})

describe("how long a run took", () => {
  const row = (status: RunStatus) => ({ ...RunRows.toRow(run(10, status)), updatedAt: new Date(15_000) })

  it("is until its end, until now, or not to be said", () => {
    expect(RunRows.tookMillis(row("FAILED"), 60_000)).toBe(5_000)
    expect(RunRows.tookMillis(row("RUNNING"), 60_000)).toBe(50_000)
    expect(RunRows.tookMillis(row("PENDING"), 60_000)).toBeUndefined()
  })
})
