import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { makeLog } from "../../support/Log.ts"
import { read } from "../../support/Sources.ts"

describe("the log", () => {
  it.effect("has one message in a line, and facts as fields of it, in both formats", () => {
    const log = makeLog("Info")
    return Effect.gen(function* () {
      yield* Effect.annotateLogs(Effect.logWarning("a model gave no answer", Cause.die(new Error("no"))), {
        reason: "timeout",
        error: 'it said\nmessage="other" {"a":1}',
        limitMs: 5,
        isLast: true
      })
      yield* Effect.logDebug("not from this level on")
      assert.deepStrictEqual(log.facts(), [
        {
          level: "WARN",
          message: "a model gave no answer",
          reason: "timeout",
          error: 'it said\nmessage="other" {"a":1}',
          limitMs: 5,
          isLast: true
        }
      ])
      assert.match(String(log.entries[0]?.cause), /^Error: no\n/)
      const [logfmt = "", json] = log.lines
      assert.lengthOf(log.lines, 2)
      for (const line of log.lines) assert.notInclude(line, "\n")
      assert.match(String(json), /^\{"timestamp":"[^"]+Z","level":"WARN","fiber":"#\d+","message":/)
      assert.match(logfmt, /^timestamp=\S+Z level=WARN fiber=#\d+ message="a model gave no answer" cause="/)
      assert.include(
        logfmt,
        ' reason=timeout error="it said\\nmessage=\\"other\\" {\\"a\\":1}" limitMs=5 isLast=true'
      )
    }).pipe(Effect.provide(log.layer))
  })

  it.effect("gives no terminal an order that somebody wrote, and stays what it was to who reads it", () => {
    const log = makeLog("Info")
    const workspaceId = "\u001b[2Jx\u009b31m\u202ey\u{e0001}\u0007\u2028"
    return Effect.gen(function* () {
      yield* Effect.annotateLogs(Effect.logInfo("a request was refused"), { workspaceId })
      assert.lengthOf(log.lines, 2)
      for (const line of log.lines) assert.notMatch(String(line), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      assert.strictEqual(JSON.parse(String(log.lines[1])).workspaceId, workspaceId)
    }).pipe(Effect.provide(log.layer))
  })

  it("is written with messages that are constant: what differs is a field", () => {
    const calls = Array.from(read("src")).flatMap(([path, text]) =>
      Array.from(text.matchAll(/\bEffect\.log[A-Z]\w*\(([^()]*(?:\([^()]*\))?)/gu), ([, given = ""]) => ({
        path,
        given: given.replaceAll(/\s+/gu, " ").trim()
      }))
    )
    assert.isAbove(calls.length, 25)
    for (const { given, path } of calls) {
      assert.match(given, /^("[^"]+"|what)(, (cause|Cause\.die\(defect\)))?$/u, path)
    }
  })
})
