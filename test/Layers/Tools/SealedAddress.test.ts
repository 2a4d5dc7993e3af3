import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { sealedField } from "../../../src/Schemas/ConnectorSecrets.ts"
import { RunId } from "../../../src/Schemas/Ids.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import * as PlainSecrets from "../../../src/Services/PlainSecrets.ts"
import { ToolSource } from "../../../src/Services/ToolSource.ts"
import { check, connect, health, layer } from "../../support/Connected.ts"
import { listedTool, startScripted } from "../../support/Mcp.ts"

const seal = Effect.flatMap(PlainSecrets.make(Effect.yieldNow), (plain) => plain.seal)

describe("a key in the address of a connector", () => {
  it.effect("is used once it is sealed as before, bound to the same place, and shown nowhere", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const server = yield* startScripted({
        tools: [listedTool("a")],
        answer: ({ request }) => void seen.push(request.url)
      })
      const connector = yield* connect(`${server.url}?key=canary-canary`)
      const source = yield* ToolSource
      const scope = {
        id: RunId.make("run_1"),
        workspaceId: connector.workspaceId,
        projectId: null,
        connectorIds: null,
        policy: null
      }
      const tools = Effect.map(source.tools(scope), ({ tools }) =>
        tools.flatMap(({ binding }) => (binding === null ? [] : [binding]))
      )
      const before = yield* tools
      assert.lengthOf(before, 1)
      assert.notInclude(JSON.stringify(before), "canary")
      assert.strictEqual(yield* seal, 1)
      const row = Option.getOrThrow(yield* (yield* ConnectorRepo).find(connector.id))
      assert.deepStrictEqual(Object.keys(row.metadata), [sealedField])
      seen.length = 0
      assert.deepStrictEqual(yield* tools, before)
      yield* source.check(row)
      assert.isAbove(seen.length, 0)
      for (const url of seen) assert.include(url, "?key=canary-canary")
      // What was approved before it was sealed is done after.
      const [binding] = before
      if (binding === undefined) return yield* Effect.die("no tool")
      const found = yield* source.find(scope, binding)
      assert.deepStrictEqual(found.binding, binding)
    }).pipe(Effect.provide(layer))
  )

  it.effect("that can't be opened is told without it", () =>
    Effect.gen(function* () {
      const one = yield* connect("https://example.org/?key=canary-canary")
      const other = yield* connect("https://example.org/?key=canary-canary")
      yield* seal
      const repo = yield* ConnectorRepo
      const { metadata } = Option.getOrThrow(yield* repo.find(one.id))
      yield* repo.update({ ...other, metadata })
      const { error } = yield* check({ ...other, metadata })
      assert.deepStrictEqual(error, { code: "secret_unreadable", message: "metadata: can't be opened" })
      assert.strictEqual((yield* health(other)).status, "ERROR")
    }).pipe(Effect.provide(layer))
  )
})
