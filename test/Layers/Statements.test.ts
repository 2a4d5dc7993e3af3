import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CurrentTransformer } from "effect/sql/Statement"
import { TestClock } from "effect/testing"
import * as Application from "../../src/Layers/Application.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { DatabaseHealth } from "../../src/Services/DatabaseHealth.ts"
import * as Engine from "../../src/Services/Engine.ts"
import * as RequestFacts from "../../src/Services/RequestFacts.ts"
import { rightsMillis } from "../../src/Services/Rights.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { layerNode } from "../support/Backends.ts"
import * as EmbeddedCopy from "../support/EmbeddedCopy.ts"
import { makeTenant } from "../support/Service.ts"
import { eventually } from "../support/Until.ts"
import { dataOf, makeWeb } from "../support/Web.ts"

/**
 * The statements of requests, also those that a request would share with others who ask at the same time, which are no
 * fiber's of a request (`Joined.ts`). What runs by itself is none of them: the look at what a checkpoint has to write.
 */
const asked: Array<string> = []

const layerCounting = Layer.succeed(CurrentTransformer, (statement) =>
  Effect.sync(() => {
    const [text] = statement.compile()
    if (!text.includes("pg_current_wal_insert_lsn()")) asked.push(text)
    return statement
  })
)

const served = Application.layerAtRest.pipe(
  Layer.provideMerge(Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })),
  Layer.provideMerge(layerNode(EmbeddedCopy.layerClient)),
  Layer.provideMerge(layerCounting)
)

/**
 * How many statements each request takes of a caller who was not known lately, and of one who was: token and role are
 * one each. One more is a round trip more for everybody: whoever raises a number says why.
 */
const expected: Readonly<Record<string, readonly [cold: number, warm: number]>> = {
  "GET /health/ready": [1, 1],
  "GET /api/agents": [3, 1],
  "POST /api/agents": [3, 1],
  "GET /api/agents/{id}": [3, 1],
  "PATCH /api/agents/{id}": [4, 2],
  "DELETE /api/agents/{id}": [4, 2],
  "GET /api/projects": [3, 1],
  "POST /api/projects": [3, 1],
  "GET /api/connectors": [3, 1],
  "GET /api/chat/memory": [3, 1],
  "POST /api/chat/memory": [3, 1],
  "DELETE /api/chat/memory/{id}": [4, 2],
  "GET /api/runs": [3, 1],
  "POST /api/tasks": [3, 1],
  "GET /api/runs/{id}": [4, 2],
  "GET /api/chat/conversations": [3, 1],
  "GET /api/workspaces": [2, 1],
  "GET /api/tokens": [2, 1]
}

describe("statements of a request", () => {
  it.effect("are one of all who ask at once whether the database is there", () =>
    Effect.gen(function* () {
      const { check } = yield* DatabaseHealth
      asked.length = 0
      const ask = Effect.provideService(check, RequestFacts.CurrentRequest, {})
      yield* Effect.all([ask, ask, ask, ask], { concurrency: "unbounded" })
      assert.strictEqual(asked.length, 1)
      yield* ask
      assert.strictEqual(asked.length, 2)
    }).pipe(Effect.provide(served))
  )

  it.effect("are as few as they were, and less by two while its caller is known", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const bodies: Readonly<Record<string, object>> = {
        "/api/agents": { workspaceId, name: "an agent" },
        "/api/projects": { workspaceId, name: "a project" },
        "/api/chat/memory": { workspaceId, key: "key", value: "value" },
        "/api/tasks": { workspaceId, prompt: "do it" }
      }
      const made = (path: string) =>
        Effect.map(send("POST", path, { token, json: bodies[path] }), (answer) => {
          assert.strictEqual(answer.status, 201, path)
          return dataOf<{ id: string }>(answer).id
        })
      const target = Effect.fnUntraced(function* (path: string) {
        if (!path.endsWith("{id}")) return path
        const list = path.slice(0, -"/{id}".length)
        return `${list}/${yield* made(list === "/api/runs" ? "/api/tasks" : list)}`
      })
      const found: Record<string, readonly [number, number]> = {}
      for (const request of Object.keys(expected)) {
        const [method = "", path = ""] = request.split(" ")
        const isList = method === "GET" && !/\{|health|workspaces|tokens/.test(path)
        const json = method === "POST" ? bodies[path] : method === "PATCH" ? { name: "other" } : undefined
        const take = Effect.fnUntraced(function* (isCold: boolean) {
          const url = `${yield* target(path)}${isList ? `?workspaceId=${workspaceId}` : ""}`
          if (isCold) yield* TestClock.adjust(rightsMillis)
          asked.length = 0
          const answer = yield* send(method, url, { token, ...(json !== undefined && { json }) })
          assert.isBelow(answer.status, 300, `${request}: ${answer.text}`)
          return asked.length
        })
        // Known by what went before, whatever that was.
        found[request] = [yield* take(true), yield* Effect.andThen(take(false), take(false))]
      }
      assert.deepStrictEqual(found, expected)
    }).pipe(Effect.provide(served))
  )
})

/**
 * A request with a key takes three more: the look at the key, which takes it too, the role, which nobody remembers within
 * a transaction, and the row with the answer; beside them the beginning and the end of the transaction, which are not
 * counted here. One that is answered again is the look, and the role.
 */
const keyed: Readonly<Record<string, readonly [first: number, again: number]>> = {
  "POST /api/agents": [4, 2],
  "POST /api/tasks": [4, 2]
}

describe("statements of a request with a key", () => {
  it.effect("are three more the first time, and two in all when it is answered again", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const found: Record<string, readonly [number, number]> = {}
      for (const request of Object.keys(keyed)) {
        const path = request.split(" ")[1] ?? ""
        const take = Effect.fnUntraced(function* (key: string) {
          asked.length = 0
          const json = { workspaceId, name: "an agent", prompt: "do it" }
          const answer = yield* send("POST", path, { token, json, headers: { "idempotency-key": key } })
          assert.strictEqual(answer.status, 201, answer.text)
          return asked.length
        })
        yield* take("before")
        found[request] = [yield* take("k"), yield* take("k")]
      }
      assert.deepStrictEqual(found, keyed)
    }).pipe(Effect.provide(served))
  )
})

/** By what they are known, and how many there are of each; the looks for work of a node are none of a run. */
const ofRun = {
  made: [/insert into "?runs"? /, 1],
  connectors: [/from connectors /, 1],
  "provider keys": [/join provider_keys /, 1],
  steps: [/insert into run_steps /, 3],
  end: [/set status = \S*status, output/, 1]
} as const
/** What this test asks itself. */
const isList = (text: string) => text.includes("run_counts")
const isLook = (text: string) => text.includes("full_owners")

describe("statements of a run", () => {
  it.effect("of three steps, with the request that makes it, are seven", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      yield* Layer.build(Engine.layerTasks)
      const statuses = Effect.map(
        RunRepo.use((runs) => runs.list({ workspaceId, limit: 100, offset: 0 })),
        ({ runs }) => runs.map(({ status }) => status)
      )
      const execute = Effect.gen(function* () {
        asked.length = 0
        const json = { workspaceId, prompt: "call current_time {}" }
        const answer = yield* send("POST", "/api/tasks", { token, json })
        assert.strictEqual(answer.status, 201, answer.text)
        const begun = asked.slice()
        yield* eventually(
          Effect.map(statuses, (all) => all.every((status) => status === "COMPLETED")),
          "the run is over"
        )
        return [...begun, ...asked.slice(begun.length).filter((text) => !isList(text))]
      })
      // The first with what a start looks for, and with who calls.
      yield* execute
      const texts = (yield* execute).filter((text) => !isLook(text))
      for (const [kind, [pattern, count]] of Object.entries(ofRun)) {
        assert.lengthOf(
          texts.filter((text) => pattern.test(text)),
          count,
          kind
        )
      }
      assert.lengthOf(texts, 7)
    }).pipe(Effect.scoped, Effect.provide(served))
  )
})
