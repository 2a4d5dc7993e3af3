import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { type Answer, makeWeb } from "../support/Web.ts"
import {
  chatEvents,
  type EndpointRow,
  endpoints,
  type Given,
  type Resource,
  type Returned,
  resources
} from "./Specification.ts"

type Body = Record<string, unknown>

const isTimestamp = (value: unknown) =>
  typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)

const check = (value: unknown, field: Returned, path: string): void => {
  const { nullable, type, values } = field
  if (value === null) {
    assert.isTrue(nullable ?? false, `${path} is null`)
    return
  }
  if (values !== undefined) assert.include(values, value as string, path)
  if (typeof type !== "string") {
    assert.isArray(value, path)
    for (const one of value as ReadonlyArray<unknown>) isResource(one, type[0], `${path}[]`)
  } else if (type === "string" || type === "boolean") assert.typeOf(value, type, path)
  else if (type === "date-time") assert.isTrue(isTimestamp(value), `${path}: ${value}`)
  else if (type === "strings") for (const one of value as ReadonlyArray<unknown>) assert.isString(one, path)
  else isResource(value, type, path)
}

/** Has exactly the fields of the table, each of its type. */
const isResource = (value: unknown, name: Resource, path: string = name): void => {
  const fields = resources[name]
  assert.sameMembers(Object.keys(value as object), Object.keys(fields), path)
  for (const [key, field] of Object.entries(fields)) check((value as Body)[key], field, `${path}.${key}`)
}

const sampleOf = ({ ofLength: _, length, sample, type, values }: Given): unknown =>
  sample ??
  values?.[0] ??
  {
    text: "x".repeat(Math.max(1, length?.[0] ?? 1)),
    id: undefined,
    boolean: false,
    texts: ["a"],
    object: { a: 1 },
    integer: 1
  }[type]

const titleOf = ({ method, path }: EndpointRow) => `${method} ${path}`
const rowOf = (title: string): EndpointRow => {
  const row = endpoints.find((candidate) => titleOf(candidate) === title)
  if (row === undefined) throw new Error(`no row ${title}`)
  return row
}

/** A workspace without plan limits, with one of everything that a body or query can name. */
const makeSetting = Effect.gen(function* () {
  const { send } = yield* makeWeb
  const tenant = yield* makeTenant()
  const { token, workspaceId } = tenant
  yield* (yield* WorkspaceRepo).setPlan(workspaceId, "pro", new Date(0))

  const create = (path: string, json: object) =>
    Effect.map(send("POST", path, { token, json: { workspaceId, ...json } }), (answer) => {
      assert.strictEqual(answer.status, 201, answer.text)
      return (answer.body as { data: { id: string } }).data.id
    })
  const projectId = yield* create("/api/projects", { name: "p" })
  const providerKeyId = yield* create("/api/provider-keys", { name: "k", provider: "offline", model: "m" })
  const agentId = yield* create("/api/agents", { name: "a", providerKeyId })
  const connectorId = yield* create("/api/connectors", { type: "custom" })
  const cronJob = { name: "c", schedule: "@daily", prompt: "p", agentId }
  const cronJobId = yield* create("/api/cron-jobs", cronJob)
  yield* create("/api/tasks", { prompt: "p" })
  yield* create("/api/chat/memory", { key: "k", value: "v" })
  const chat = yield* send("POST", "/api/chat/messages", {
    token,
    json: { workspaceId, content: "hi", agentId }
  })
  const conversationId = /"conversationId":"(\w+)"/.exec(chat.text)?.[1] ?? ""
  const ids: Body = { workspaceId, projectId, providerKeyId, agentId, cronJobId, conversationId }
  const ofPath: Readonly<Record<string, string>> = {
    "/api/agents/{id}": agentId,
    "/api/cron-jobs/{id}": cronJobId,
    "/api/chat/conversations/{id}": conversationId
  }

  const minimal = (fields: Readonly<Record<string, Given>>): Body =>
    Object.fromEntries(
      Object.entries(fields)
        .filter(([name, { required }]) => required === true || name === "type")
        .map(([name, field]) => [name, ids[name] ?? sampleOf(field)])
    )
  const full = (fields: Readonly<Record<string, Given>>): Body => ({
    ...Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, ids[name] ?? sampleOf(field)])
    ),
    ...("connectorIds" in fields && { connectorIds: [connectorId] }),
    // Of no project, so that a conversation without one can be continued.
    ...("conversationId" in fields && { projectId: null })
  })
  const call = (row: EndpointRow, given: Body): Effect.Effect<Answer> => {
    const path = row.path.replace("{id}", ofPath[row.path] ?? "")
    if (row.body !== undefined) return send(row.method.toUpperCase(), path, { token, json: given })
    const query = new URLSearchParams(given as Record<string, string>)
    return send(row.method.toUpperCase(), `${path}?${query}`, { token })
  }
  return { call, minimal, full, ids }
})

const refused = (answer: Answer, field: string, reason: string) => {
  assert.strictEqual(answer.status, 400, `${field}: ${reason} ${answer.text}`)
  assert.strictEqual(answer.headers.get("x-error-code"), "invalid_input")
  const { error, ...rest } = answer.body as { readonly error: string }
  assert.deepStrictEqual(rest, {})
  assert.isTrue(
    error.startsWith(`${field}: `) || error.startsWith(`${field}.`),
    `${field}: ${reason} ${error}`
  )
}

/** The text of so many code points, each of them four bytes in UTF-8 and two code units in JavaScript. */
const wide = (length: number) => "𝒳".repeat(length)

const inputs = (row: EndpointRow) => row.body ?? row.query ?? {}

const settled = Effect.provide(layerOffline())

describe("what the endpoints answer", () => {
  for (const row of endpoints) {
    it.effect(`${titleOf(row)} returns exactly the documented fields`, () =>
      settled(
        Effect.gen(function* () {
          const { call, full, minimal } = yield* makeSetting
          for (const given of [minimal(inputs(row)), full(inputs(row))]) {
            const { path, returns } = row
            const sent = path === "/api/runs" ? { workspaceId: given.workspaceId } : given
            const answer = yield* call(row, row.query === undefined ? given : sent)
            assert.strictEqual(answer.status, row.status, answer.text)
            if (returns === "stream") {
              const events = Array.from(answer.text.matchAll(/^event: (\w+)$/gm), ([, name]) => name)
              assert.isAbove(events.length, 2)
              for (const name of events) assert.include(chatEvents, name)
              continue
            }
            const { data, total, ...rest } = answer.body as {
              readonly data: unknown
              readonly total?: unknown
            }
            assert.deepStrictEqual(rest, {})
            const isPaged = typeof returns !== "string" && returns.length === 2
            assert.strictEqual("total" in (answer.body as object), isPaged)
            if (isPaged) assert.isTrue(Number.isInteger(total))
            if (returns === "success") {
              assert.deepStrictEqual(data, { success: true })
              break
            }
            if (typeof returns === "string") {
              isResource(data, returns)
              continue
            }
            const list = data as ReadonlyArray<unknown>
            // Lists that are narrowed to the project may be empty; those of the workspace are not.
            if (given.projectId === undefined) assert.isNotEmpty(list)
            for (const one of list) isResource(one, returns[0])
          }
        })
      )
    )
  }

  it.effect("fills what is not sent with the documented values, and returns what is sent", () =>
    settled(
      Effect.gen(function* () {
        const { call, full, minimal } = yield* makeSetting
        for (const row of endpoints) {
          const { body, returns } = row
          if (row.method !== "post" || body === undefined || returns === "stream") continue
          const left = ((yield* call(row, minimal(body))).body as { data: Body }).data
          const sent = minimal(body)
          for (const [name, { absent }] of Object.entries(body)) {
            if (!(name in left)) continue
            assert.deepStrictEqual(left[name], sent[name] ?? absent, `${titleOf(row)} ${name}`)
          }
          const given = full(body)
          const made = (
            (yield* call(row, row.path.endsWith("memory") ? { ...given, key: "other" } : given)).body as {
              data: Body
            }
          ).data
          for (const name of Object.keys(body)) {
            if (name in made && name !== "key")
              assert.deepStrictEqual(made[name], given[name], `${titleOf(row)} ${name}`)
          }
        }
      })
    )
  )
})

describe("what the endpoints refuse", () => {
  for (const row of endpoints) {
    const fields = Object.entries(inputs(row))
    if (fields.length === 0) continue
    it.effect(`${titleOf(row)}: each field at its limits, over them, missing, of another type`, () =>
      settled(
        Effect.gen(function* () {
          const { call, minimal } = yield* makeSetting
          const base = minimal(inputs(row))
          const accepted = (given: Body, field: string, reason: string) =>
            Effect.map(call(row, { ...base, ...given }), (answer) =>
              assert.strictEqual(answer.status, row.status, `${field}: ${reason} ${answer.text}`)
            )
          for (const [name, field] of fields) {
            const { length, nullable, ofLength = wide, range, required, type, values } = field
            const refuse = (value: unknown, reason: string) =>
              Effect.map(call(row, { ...base, [name]: value }), (answer) => refused(answer, name, reason))
            if (required === true) {
              const { [name]: _, ...without } = base
              const answer = yield* call(row, without)
              refused(answer, name, "missing")
              assert.deepStrictEqual(answer.body, { error: `${name}: is required` })
            }
            if (length !== undefined) {
              const [minimum, maximum] = length
              for (const edge of [minimum, maximum]) {
                const value = ofLength(edge)
                // An empty query parameter is one that is not sent.
                if (value !== null) yield* accepted({ [name]: value }, name, `${edge} characters`)
              }
              if (minimum > 0) yield* refuse("", "too short")
              yield* refuse("x".repeat(maximum + 1), "too long")
              yield* refuse(wide(maximum + 1), "too long")
              yield* refuse("a\u0000b", "NUL")
            }
            if (range !== undefined) {
              const [minimum, maximum] = range
              for (const edge of range) yield* accepted({ [name]: edge }, name, `${edge}`)
              for (const beyond of [minimum - 1, maximum + 1, 1.5, "x"]) yield* refuse(beyond, `${beyond}`)
            }
            if (values !== undefined) {
              for (const value of values) yield* accepted({ [name]: value }, name, value)
              for (const other of [
                "",
                "other",
                values[0]?.toUpperCase() === values[0] ? "pending" : "Autonomous"
              ]) {
                yield* refuse(other, "not among the values")
              }
            }
            if (row.body === undefined) continue
            const other = type === "text" || type === "id" ? 5 : "text"
            yield* refuse(other, "another type")
            if (type !== "object") yield* refuse({ a: { b: 1 } }, "an object")
            if (nullable === true) {
              // At least one of `type` and `providerId` must be given.
              const beside = name === "type" ? { providerId: "x" } : {}
              yield* accepted({ ...beside, [name]: null }, name, "null")
            } else yield* refuse(null, "null")
          }
        })
      )
    )
  }

  it.effect("metadata over 16 KiB, and a connector without type and provider", () =>
    settled(
      Effect.gen(function* () {
        const { call, ids } = yield* makeSetting
        const row = rowOf("post /api/connectors")
        const base = { workspaceId: ids.workspaceId, type: "custom" }
        const metadata = (bytes: number) => ({ a: "x".repeat(bytes - '{"a":""}'.length) })
        assert.strictEqual((yield* call(row, { ...base, metadata: metadata(16_384) })).status, 201)
        refused(yield* call(row, { ...base, metadata: metadata(16_385) }), "metadata", "too large")
        for (const empty of [{}, { type: null, providerId: null }]) {
          refused(yield* call(row, { workspaceId: ids.workspaceId, ...empty }), "providerId", "missing")
        }
      })
    )
  )
})
