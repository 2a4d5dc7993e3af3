import { assert, describe, it, layer, type Vitest } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Api } from "../../src/Api/Api.ts"
import * as Application from "../../src/Layers/Application.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { CreateConnector } from "../../src/Schemas/Connector.ts"
import { text } from "../../src/Schemas/Text.ts"
import { CreateWebhook } from "../../src/Schemas/Webhook.ts"
import { now } from "../../src/Services/CurrentTime.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { layerNode } from "../support/Backends.ts"
import * as EmbeddedCopy from "../support/EmbeddedCopy.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { type Answer, makeWeb, sentenceOf } from "../support/Web.ts"

type Json = Record<string, unknown>

const runs = { valid: 60, mutated: 90 }
const seed = process.env.AGENTD_PROPERTY_SEED ?? "agentd"

const writes = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).flatMap((endpoint) => {
    const [first] = endpoint.payload.values()
    const payload = first?.schemas[0] as Schema.Codec<Json> | undefined
    return payload === undefined
      ? []
      : [
          {
            id: `${group.identifier}.${endpoint.identifier}`,
            method: endpoint.method,
            path: endpoint.path,
            payload
          }
        ]
  })
)

const inMemory = layerOffline()

/** A database refuses texts that memory takes. */
const onDatabase = Application.layer.pipe(
  Layer.provideMerge(Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })),
  Layer.provideMerge(layerNode(EmbeddedCopy.layerClient))
)

class World extends Context.Service<
  World,
  {
    readonly send: (method: string, path: string, body: string) => Effect.Effect<Answer>
    /** What `:id` of a path is, by what is before it. */
    readonly resources: Readonly<Record<string, string>>
    /** Own values for fields where a random one would be refused. */
    readonly known: Readonly<Record<string, unknown>>
  }
>()("agentd/test/Properties/World") {
  static readonly make = Layer.effect(
    World,
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const friend = yield* makeTenant()
      yield* (yield* WorkspaceRepo).setPlan(workspaceId, "pro", new Date(0))
      const today = (yield* now).getTime()
      const create = (path: string, json: Json) =>
        Effect.map(
          send("POST", path, { token, json: { workspaceId, ...json } }),
          ({ body }) => (body as { data: { id: string } }).data.id
        )
      const agentId = yield* create("/api/agents", { name: "a" })
      const connectorId = yield* create("/api/connectors", { type: "custom" })
      const providerKeyId = yield* create("/api/provider-keys", {
        name: "k",
        provider: "offline",
        model: "m"
      })
      const cronJobId = yield* create("/api/cron-jobs", { name: "c", schedule: "@daily", prompt: "p" })
      const webhookId = yield* create("/api/webhooks", { url: "https://example.org/hook", events: ["*"] })
      // Where no budget is set by chance.
      const apart = yield* create("/api/workspaces", { name: "apart" })
      return {
        send: (method: string, path: string, body: string) =>
          send(method, path, {
            token,
            headers: isOfFace(path) ? { "x-workspace-id": apart } : {},
            ...(method !== "GET" && { body })
          }),
        resources: {
          // Not the agent that work is sent to: this one is switched off now and then.
          "/api/agents": yield* create("/api/agents", { name: "b" }),
          "/api/approvals": "appr_none",
          "/api/connectors": connectorId,
          "/api/cron-jobs": cronJobId,
          "/api/provider-keys": providerKeyId,
          "/api/webhooks": webhookId,
          "/api/webhook-deliveries": yield* create(`/api/webhooks/${webhookId}/test`, {}),
          "/api/workspaces": workspaceId
        },
        known: {
          workspaceId,
          projectId: yield* create("/api/projects", { name: "p" }),
          agentId,
          providerKeyId,
          defaultProviderKeyId: providerKeyId,
          connectorIds: [connectorId],
          conversationId: null,
          schedule: "@daily",
          timezone: "Europe/Berlin",
          // Within what this service allows at most.
          maxSteps: 5,
          maxSeconds: 60,
          runAt: "1970-01-01T00:00:00.000Z",
          after: "2026-11-20T08:00:00.000Z",
          from: new Date(today - 3 * 86_400_000).toISOString(),
          to: new Date(today - 86_400_000).toISOString(),
          baseUrl: "http://127.0.0.1:11434/v1",
          url: "https://example.org/hook",
          events: ["run.failed", "*"],
          email: friend.user.email
        }
      }
    })
  )
}

type Write = (typeof writes)[number]

/** Bodies and answers there are those of other protocols. */
const isOfFace = (path: string) => /^\/(v1|api\/ui)\//.test(path)

const collectionOf = ({ path }: Write) => path.replace(/\/:id.*$/, "")

const perform = Effect.fnUntraced(function* (write: Write, body: string) {
  const { resources, send } = yield* World
  const answer = yield* send(
    write.method,
    write.path.replace(":id", resources[collectionOf(write)] ?? "").replace(":agentId", "default"),
    body
  )
  assert.match(answer.headers.get("x-request-id") ?? "", /^req_/)
  assert.isBelow(answer.status, 500, `${write.id} ${body.slice(0, 300)} ${answer.text}`)
  if (answer.status >= 400) {
    if (!isOfFace(write.path)) assert.deepStrictEqual(Object.keys(answer.body as object), ["error"])
    const error = sentenceOf(answer)
    assert.isString(error)
    assert.isBelow(error.length, 400, error.slice(0, 400))
    assert.match(answer.headers.get("x-error-code") ?? "", /^[a-z_]+$/)
  }
  return answer
})

/** What is there now, by reading it again in the way that its endpoint offers. */
const read = Effect.fnUntraced(function* (write: Write, answer: Answer) {
  const { known, send } = yield* World
  const workspace = `workspaceId=${known.workspaceId}`
  if (write.id === "chat.send") {
    const id = /"conversationId":"(\w+)"/.exec(answer.text)?.[1]
    const { body } = yield* send("GET", `/api/chat/conversations/${id}`, "")
    const { data } = body as { readonly data: Json & { readonly messages: ReadonlyArray<Json> } }
    return { ...data, content: data.messages[0]?.content }
  }
  if (isOfFace(write.path)) return {}
  const { data } = answer.body as { readonly data: Json }
  // What has no endpoint to read it: instants, what waits, a member's own row, and a token that is shown once.
  if (["cronJobs.preview", "cronJobs.backfill"].includes(write.id)) return {}
  // What belongs to a resource and is read at its own address.
  if (write.method === "PUT") {
    const { resources } = yield* World
    const path = write.path.replace(":id", resources[collectionOf(write)] ?? "")
    const { body } = yield* send("GET", path, "")
    assert.deepStrictEqual((body as { readonly data: Json }).data, data)
    return data
  }
  if (write.id === "workspaces.addMember" || write.id === "tokens.create") return data
  const collection = write.id === "tasks.create" ? "/api/runs" : collectionOf(write)
  // The caller's workspaces are of no workspace.
  const query = collection === "/api/workspaces" ? "" : `?${workspace}`
  const list = yield* send("GET", `${collection}${query}${collection === "/api/runs" ? "&limit=1" : ""}`, "")
  const rows = (list.body as { readonly data: ReadonlyArray<Json> }).data
  const found = rows.find(({ id }) => id === data.id)
  // That of a webhook is shown this once.
  const { secret: _, ...shown } = data
  assert.deepStrictEqual(found, shown)
  return data
})

/** What is sent in addition to the fields of an endpoint, which it ignores. */
const added: ReadonlySet<string> = new Set(["__proto__", "constructor", "extra", "id"])

const comesBack = Effect.fnUntraced(function* (write: Write, sent: Json, answer: Answer) {
  const kept = yield* read(write, answer)
  for (const [name, value] of Object.entries(sent)) {
    // Null on creation is the same as nothing: a default may stand for it.
    if (added.has(name) || !Object.hasOwn(kept, name)) continue
    if (value === null && write.method === "POST") continue
    assert.deepStrictEqual(kept[name], value, `${write.id} ${name}`)
  }
})

/** The smallest bodies would have neither `type` nor `providerId`, and be none of a connector. */
const connectors = Schema.Struct({
  ...CreateConnector.fields,
  providerId: Schema.Literals(["github", "a provider of one's own"])
})

/** No random text is an address. */
const webhooks = Schema.Struct({
  ...CreateWebhook.fields,
  url: Schema.Literals(["https://example.org/hook"])
})

const words = text(1, 1_000)
const temperature = Schema.optionalKey(Schema.Literals([0, 0.5, 2]))
const metadata = Schema.optionalKey(Schema.Struct({ a: Schema.Literals(["b"]) }))

/** Of a face the contract knows an object alone: these are what its clients send. */
const ofFaces: Readonly<Record<string, Schema.Codec<Json>>> = {
  "openAi.createChatCompletion": Schema.Struct({
    model: Schema.Literals(["default"]),
    messages: Schema.NonEmptyArray(
      Schema.Struct({ role: Schema.Literals(["user", "system"]), content: words })
    ),
    stream: Schema.optionalKey(Schema.Boolean),
    temperature,
    metadata
  }),
  "openAi.createResponse": Schema.Struct({
    model: Schema.Literals(["default"]),
    input: words,
    instructions: Schema.optionalKey(words),
    stream: Schema.optionalKey(Schema.Boolean),
    store: Schema.optionalKey(Schema.Boolean),
    temperature,
    metadata
  }),
  "uiStream.send": Schema.Struct({
    id: Schema.Literals(["chat-1", "chat-2"]),
    trigger: Schema.optionalKey(Schema.Literals(["submit-message"])),
    messages: Schema.Tuple([
      Schema.Struct({
        id: Schema.Literals(["m"]),
        role: Schema.Literals(["user"]),
        parts: Schema.Tuple([Schema.Struct({ type: Schema.Literals(["text"]), text: words })])
      })
    ])
  })
}

/** A body that the schema allows; ids are still to be made those of something that is there. */
const bodyOf = ({ id, payload }: Write): Arbitrary.Arbitrary<Json> =>
  id === "connectors.create"
    ? Arbitrary.schema(connectors)
    : id === "webhooks.create"
      ? Arbitrary.schema(webhooks)
      : Arbitrary.schema(ofFaces[id] ?? payload)

const withKnown = (body: Json, known: Readonly<Record<string, unknown>>): Json =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, name in known && value !== null ? known[name] : value])
  )

/** What any face takes. */
const asked = JSON.stringify({
  model: "default",
  input: "hello",
  messages: [{ role: "user", content: "hello", parts: [{ type: "text", text: "hello" }], id: "m" }],
  id: "chat"
})

const nested = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`

/** JSON texts to put in place of a field's value. */
const values: ReadonlyArray<string> = [
  ...["null", "5", "-1", "1.5", "1e400", "true", "[]", "{}", '""', '" "', '"text"', "[null]", '{"a":{}}'],
  ...['"a\\u0000b"', '"\\ud800"', '"\\udc00x"', '["\\u0000"]', '{"\\u0000":"\\ud800"}', '"\\u202e\\u0301"'],
  ...[`"${"x".repeat(200_000)}"`, `["${"x".repeat(200_000)}"]`, `[${"1,".repeat(50_000)}1]`],
  ...[nested("[", "]", 5_000), nested('{"a":', "}", 5_000), nested('{"a":', "}", 100_000)],
  ...['{"credential":5}', '{"credential":{"a":"\\u0000"}}', '{"__proto__":{"a":1}}', '"__proto__"', "1e-400"]
]

/** Whole bodies that are no valid ones of any endpoint, or that must not do harm. */
const wholes: ReadonlyArray<(json: string) => string> = [
  () => "null",
  () => "[]",
  () => '"text"',
  () => "5",
  () => "{",
  () => "\u0000",
  () => nested("[", "]", 100_000),
  (json) => json.slice(0, -1),
  (json) => `[${json}]`,
  (json) => `${json}${json}`,
  (json) => `\ufeff${json}`,
  (json) => json.replace(/\}$/, `${json === "{}" ? "" : ","}"__proto__":{"isActive":false},"constructor":1}`),
  (json) => json.replace(/\}$/, `${json === "{}" ? "" : ","}"extra":${nested("[", "]", 1_000)},"id":"x"}`)
]

const index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9_999 }))

/** The body with one field that is this JSON text. */
const withField = (body: Json, name: string, text: string): string => {
  const { [name]: _, ...rest } = body
  const others = JSON.stringify(rest).slice(1)
  return `{${JSON.stringify(name)}:${text}${others === "}" ? "" : ","}${others}`
}

const mutated = (body: Json, what: number, which: number): string => {
  const json = JSON.stringify(body)
  const names = Object.keys(body)
  const name = names[which % names.length]
  if (what % 5 === 0 || name === undefined) return (wholes[which % wholes.length] ?? ((same) => same))(json)
  const { [name]: _, ...rest } = body
  return what % 5 === 1 ? JSON.stringify(rest) : withField(body, name, values[what % values.length] ?? "null")
}

describe("whatever is written", () => {
  it("is enough of it", () => {
    assert.isAtLeast(writes.length * (runs.valid + runs.mutated), 2_000)
  })

  layer(Layer.provide(World.make, inMemory))((it) => {
    for (const write of writes) {
      it.effect.prop(
        `${write.id} accepts what its schema allows, and gives it back as it was`,
        [bodyOf(write)],
        Effect.fnUntraced(function* ([random]) {
          const { known } = yield* World
          const sent = withKnown(random, known)
          const answer = yield* perform(write, JSON.stringify(sent))
          // There is nothing to decide, nor any link, here: they have tests of their own.
          const missing = new Map([
            ["approvals.decide", 404],
            ["session.startByLink", 401]
          ]).get(write.id)
          if (missing !== undefined) return assert.strictEqual(answer.status, missing, answer.text)
          assert.isBelow(answer.status, 300, `${JSON.stringify(sent)} ${answer.text}`)
          yield* comesBack(write, sent, answer)
        }),
        { arbitrary: { runs: runs.valid, seed, size: 24 } }
      )

      it.effect.prop(
        `${write.id} answers anything else with a sentence, or keeps it as it was`,
        [bodyOf(write), index, index],
        Effect.fnUntraced(function* ([random, what, which]) {
          const { known } = yield* World
          const body = mutated(withKnown(random, known), what, which)
          const answer = yield* perform(write, body)
          if (answer.status < 300) yield* comesBack(write, JSON.parse(body.replace(/^\ufeff/, "")), answer)
        }),
        { arbitrary: { runs: runs.mutated, seed, size: 8 } }
      )
    }
  })

  const oddThings = (it: Vitest.MethodsNonLive<World>) => {
    for (const write of writes) {
      it.effect(`${write.id} answers every odd value of every field, and every odd body`, () =>
        Effect.gen(function* () {
          const { known } = yield* World
          const random = yield* Arbitrary.sampleEffect(bodyOf(write), { count: 50, size: 8, seed })
          const samples = random.map((body) => withKnown(body, known))
          const [base = {}] = samples
          const names = new Set(samples.flatMap(Object.keys))
          const bodies = [
            ...Array.from(names).flatMap((name) => values.map((value) => withField(base, name, value))),
            ...wholes.map((whole) => whole(JSON.stringify(base)))
          ]
          for (const body of bodies) {
            const answer = yield* perform(write, body)
            if (answer.status < 300) yield* comesBack(write, JSON.parse(body.replace(/^\ufeff/, "")), answer)
          }
        })
      )
    }

    it.effect("every odd id in a path is one that does not exist", () =>
      Effect.gen(function* () {
        const { send } = yield* World
        for (const endpoint of Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))) {
          if (!endpoint.path.includes(":")) continue
          for (const id of ["absent", "a%00b", "%F0%9F%98%80", "%20", "..%2F..", "'%3B--", "x".repeat(90)]) {
            const path = endpoint.path.replace(/:\w+/g, id)
            const answer = yield* send(
              endpoint.method,
              path,
              isOfFace(path)
                ? asked
                : '{"email":"a@example.org","decision":"approve","from":"2026-11-20T08:00:00Z","to":"2026-11-20T09:00:00Z"}'
            )
            const allowed = id.includes("%00") ? [400, 404] : [404]
            assert.include(allowed, answer.status, `${endpoint.method} ${path} ${answer.text}`)
          }
        }
      })
    )
  }

  describe("in memory", () => layer(Layer.provide(World.make, inMemory))(oddThings))
  describe("on the database", () =>
    layer(Layer.provide(World.make, onDatabase), { excludeTestServices: true })(oddThings))
})
