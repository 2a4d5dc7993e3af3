import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as References from "effect/References"
import type { ConversationId, ProviderKeyId, RunId } from "../../../src/Schemas/Ids.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { ProviderKeyRepo } from "../../../src/Services/ProviderKeyRepo.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { collect, conversationOf, names } from "../../support/ChatEvents.ts"
import { type Answer, begins, makeServer, protocols, refuses, says, textChunk } from "../../support/Models.ts"
import { wire } from "../../support/ModelWire.ts"
import { layerOffline, makeTenant } from "../../support/Service.ts"
import { makeWeb } from "../../support/Web.ts"

const canary = "canary-7f3a91c2e5b84d06"

/** All that is logged at any level: message, annotations, spans and cause. */
const makeLog = () => {
  const lines: Array<string> = []
  const layer = Layer.merge(
    Logger.layer([
      Logger.make((options) => {
        const { cause, fiber, message } = options
        const annotations = fiber.getRef(References.CurrentLogAnnotations)
        lines.push(
          inspect(message, { depth: 20 }),
          inspect(annotations, { depth: 20 }),
          inspect(cause, { depth: 20, showHidden: true }),
          Cause.pretty(cause),
          String(JSON.stringify({ message, annotations, cause })),
          Logger.formatLogFmt.log(options)
        )
      })
    ]),
    Layer.succeed(References.MinimumLogLevel, "All" as const)
  )
  return { lines, layer }
}

const nextTurn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** The run once it has ended; one that never ends fails the test by its time-out. */
const ended = Effect.fnUntraced(function* (id: RunId) {
  const repo = yield* RunRepo
  while (true) {
    const run = Option.getOrThrow(yield* repo.find(id))
    if (run.status !== "PENDING" && run.status !== "RUNNING") return run
    yield* nextTurn
  }
})

/** All that is stored of a workspace, as repositories and the API give it. */
const stored = Effect.fnUntraced(function* (
  { token, user, workspaceId }: Effect.Success<ReturnType<typeof makeTenant>>,
  conversations: ReadonlyArray<ConversationId>,
  runs: ReadonlyArray<RunId>
) {
  const chat = yield* Chat
  const conversationRepo = yield* ConversationRepo
  const journals = yield* RunJournal
  const web = yield* makeWeb
  const pages = [
    `/api/provider-keys?workspaceId=${workspaceId}`,
    `/api/chat/conversations?workspaceId=${workspaceId}`,
    `/api/runs?workspaceId=${workspaceId}`,
    ...conversations.map((id) => `/api/chat/conversations/${id}`)
  ]
  return {
    keys: yield* (yield* ProviderKeyRepo).list(workspaceId),
    runs: yield* (yield* RunRepo).list({ workspaceId, limit: 100, offset: 0 }),
    steps: yield* Effect.forEach(runs, (id) => Effect.map(journals.steps(id), (steps) => [...steps])),
    conversations: yield* Effect.forEach(conversations, (id) => chat.get(user, id)),
    histories: yield* Effect.forEach(conversations, (id) => conversationRepo.history(id, 1_000_000)),
    pages: (yield* Effect.forEach(pages, (path) => web.send("GET", path, { token }))).map(
      ({ headers, text }) => [text, ...headers]
    )
  }
})

describe.each(protocols)("a key of %s", (protocol) => {
  const garbage: Answer = begins(`data: {"key":"${canary}", oops\n\n`, (response) => void response.end())
  const cut: Answer = begins(textChunk(protocol, "Once"), (response) => void response.destroy())
  const later = { "retry-after": "3600" }
  const endings: ReadonlyArray<readonly [name: string, answer: Answer, end: string, status: string]> = [
    ["401", refuses(protocol, 401, { message: `no such key: ${canary}` }), "error", "FAILED"],
    ["400", refuses(protocol, 400, { message: `bad header ${canary}` }), "error", "FAILED"],
    ["500", refuses(protocol, 500, { message: `${canary} broke me` }, later), "error", "FAILED"],
    ["garbage", garbage, "error", "FAILED"],
    ["cut", cut, "error", "FAILED"],
    ["success", says(protocol, "ok"), "done", "COMPLETED"]
  ]

  it.live("reaches its provider and nothing else", () => {
    const log = makeLog()
    return Effect.gen(function* () {
      const tenant = yield* makeTenant()
      const { token, user, workspaceId } = tenant
      const chat = yield* Chat
      const runs = yield* Runs
      const web = yield* makeWeb
      yield* Layer.build(Engine.layerTasks)
      const told: Array<unknown> = []
      const conversations: Array<ConversationId> = []
      const tasks: Array<RunId> = []

      const key = { workspaceId, name: "mine", provider: protocol, model: "m", apiKey: canary }
      for (const [name, answer, end, status] of endings) {
        const { received, url } = yield* makeServer(answer)
        const json = { ...key, baseUrl: url }
        const created = yield* web.send("POST", "/api/provider-keys", { token, json })
        assert.strictEqual(created.status, 201, created.text)
        const { data } = created.body as { data: { id: ProviderKeyId } }
        const providerKeyId = data.id

        const events = yield* collect(chat.send(user, { workspaceId, content: "hello", providerKeyId }))
        assert.strictEqual(names(events).at(-1), end, `${name}: ${JSON.stringify(events)}`)
        conversations.push(conversationOf(events))
        const { id } = yield* runs.create(user, { workspaceId, prompt: "hello", providerKeyId })
        const run = yield* ended(id)
        assert.strictEqual(run.status, status, name)
        tasks.push(id)
        told.push(created, events, run)

        // What it is needed for: without this the canary could not be missed anywhere.
        assert.isAtLeast(received.length, 2)
        for (const { headers } of received) assert.strictEqual(wire[protocol].key(headers), canary)
        for (const { path, raw } of received) assert.notInclude(path + raw, canary)
      }
      const refused = { ...key, provider: "nobody" }
      for (const json of [refused, { ...key, baseUrl: "ftp://x" }, { ...key, apiKey: [canary] }]) {
        const answer = yield* web.send("POST", "/api/provider-keys", { token, json })
        assert.strictEqual(answer.status, 400)
        told.push(answer)
      }

      yield* Effect.logDebug("a probe", Cause.fail(new Error("in the log"))).pipe(
        Effect.annotateLogs({ annotated: "too" })
      )
      const seen = log.lines.join("\n")
      assert.include(seen, "a probe")
      assert.include(seen, "in the log")
      assert.include(seen, "annotated")
      assert.notInclude(seen, canary, "the log")
      const rest = inspect(told, { depth: 20, maxArrayLength: null, maxStringLength: null })
      assert.include(rest, "responding")
      assert.include(rest, "bad header")
      assert.notInclude(rest, canary, "events and answers")
      const rows = yield* stored(tenant, conversations, tasks)
      assert.strictEqual(rows.keys.length, endings.length)
      assert.strictEqual(rows.runs.total, endings.length)
      assert.include(JSON.stringify(rows.steps), '"ok"')
      for (const [text = ""] of rows.pages) assert.include(text, `"data"`)
      assert.notInclude(inspect(rows, { depth: 20, maxArrayLength: null }), canary, "rows")
      assert.notInclude(JSON.stringify(rows), Buffer.from(canary).toString("base64").slice(0, 20))
    }).pipe(Effect.provide(layerOffline({ allowPrivateAddresses: true })), Effect.provide(log.layer))
  })
})
