import { assert, describe, it } from "@effect/vitest"
import {
  type DatabaseFacts,
  fail,
  findingOfKey,
  findingOfNode,
  findingOfSecrets,
  findingOfSpace,
  findingsOfDatabase,
  ok,
  statusOf,
  warn
} from "../../src/Schemas/Doctor.ts"
import { emptyReport, withUnreadable } from "../../src/Schemas/Secrets.ts"

const well: DatabaseFacts = {
  isEmbedded: false,
  version: "15.18",
  major: 15,
  encoding: "UTF8",
  isWritable: true,
  canCreate: true,
  foreignTables: 0,
  listens: true,
  schema: 14,
  latestSchema: 14,
  clockMillis: 1000,
  clockError: 0,
  connections: 12,
  connectionsUsed: 3
}

const complaints = (facts: Partial<DatabaseFacts>) =>
  findingsOfDatabase({ ...well, ...facts }, 10)
    .filter(({ status }) => status !== "ok")
    .map(({ check, status }) => `${status} ${check}`)

describe("what is found of a database", () => {
  it("is well where all is as it should be", () => assert.deepStrictEqual(complaints({}), []))

  it.each([
    [{ major: 14, version: "14.1" }, ["fail database"]],
    [{ encoding: "LATIN1" }, ["fail encoding"]],
    [{ isWritable: false }, ["fail writable"]],
    [{ canCreate: false }, ["fail rights"]],
    [{ foreignTables: 2 }, ["fail rights"]],
    [{ listens: false }, ["fail listen"]],
    [{ connections: 11 }, ["fail connections"]],
    [{ schema: null }, ["warn schema"]],
    [{ schema: 13 }, ["warn schema"]],
    [{ schema: 15 }, ["fail schema"]],
    [{ clockMillis: 1001 }, ["warn clock"]],
    [{ clockMillis: -1001 }, ["warn clock"]],
    [{ clockMillis: 1500, clockError: 500 }, []],
    // Its one connection is its own, and so are its tables.
    [{ isEmbedded: true, connections: 1, canCreate: false, listens: false }, []]
  ] as const)("is told of %j", (facts, expected) => assert.deepStrictEqual(complaints(facts), [...expected]))

  it("says which clock is ahead", () => {
    const clock = (clockMillis: number) =>
      findingsOfDatabase({ ...well, clockMillis }, 10).find(({ check }) => check === "clock")?.found
    assert.strictEqual(clock(2_500), "that of the database is 2.5 s ahead of that of this machine")
    assert.strictEqual(clock(-90_000), "that of the database is 90.0 s behind that of this machine")
  })
})

describe("what is found of a machine", () => {
  it("is told of too old a Node.js", () => {
    assert.strictEqual(findingOfNode("22.19.0", [22, 19]).status, "ok")
    assert.strictEqual(findingOfNode("24.0.0", [22, 19]).status, "ok")
    assert.strictEqual(findingOfNode("22.18.9", [22, 19]).status, "fail")
    assert.strictEqual(findingOfNode("20.20.1", [22, 19]).status, "fail")
  })

  it("is told of a disk that runs full", () => {
    const mebibyte = 1024 * 1024
    assert.strictEqual(findingOfSpace("/d", 1024 * mebibyte).status, "ok")
    assert.strictEqual(findingOfSpace("/d", 1024 * mebibyte - 1).status, "warn")
    assert.strictEqual(findingOfSpace("/d", 100 * mebibyte - 1).status, "fail")
  })

  it("is told of secrets that nothing opens, and of a key that is missing", () => {
    const report = { ...emptyReport, current: 2 }
    assert.strictEqual(findingOfSecrets(emptyReport).found, "none stored")
    assert.deepInclude(findingOfSecrets({ ...emptyReport, plain: 3 }), {
      status: "warn",
      found: "3 connectors hold secrets in their metadata that are not sealed"
    })
    assert.strictEqual(findingOfSecrets(report).status, "ok")
    assert.strictEqual(findingOfSecrets({ ...report, former: 1 }).status, "warn")
    const lost = findingOfSecrets(withUnreadable(withUnreadable(report, "conn_1"), "conn_1"))
    assert.deepStrictEqual([lost.status, lost.found], ["fail", "2 of 4 can't be opened: conn_1"])
    const ofKey = (isThere: boolean, isMade: boolean, isLost: boolean) =>
      findingOfKey("K", { isThere, isMade, isLost }).status
    assert.deepStrictEqual([ofKey(true, false, false), ofKey(true, true, true)], ["ok", "ok"])
    assert.deepStrictEqual([ofKey(false, true, false), ofKey(false, false, false)], ["ok", "warn"])
    assert.deepStrictEqual([ofKey(false, true, true), ofKey(false, false, true)], ["fail", "fail"])
  })

  it("is as bad as the worst of it", () => {
    const [good, doubtful, bad] = [ok("a", "b"), warn("a", "b", "c"), fail("a", "b", "c")]
    assert.strictEqual(statusOf([]), "ok")
    assert.strictEqual(statusOf([good, doubtful]), "warn")
    assert.strictEqual(statusOf([doubtful, bad, good]), "fail")
  })
})
