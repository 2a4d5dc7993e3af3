import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { dataOf, isError, makeWeb } from "../support/Web.ts"

/** What `Number` reads as a number within the bounds, and what is near one. */
const noNumbers = [
  "1e1",
  "5.0",
  "5.",
  ".5e1",
  "010",
  "05",
  "00",
  "0x5",
  "0b101",
  "+5",
  "-0",
  " 5",
  "5 ",
  "5\n",
  "",
  " ",
  "5,0",
  "1_0",
  "٥",
  "５",
  "Infinity",
  "NaN",
  "5n",
  "null",
  "99999999999999999999"
]

const lists = ["/api/runs", "/api/approvals", "/api/chat/conversations"]

describe("a number of a query or header", () => {
  it.effect("has plain digits without leading zeros, or is a 400 that names it", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const job = yield* send("POST", "/api/cron-jobs", {
        token,
        json: { workspaceId, name: "c", schedule: "@daily", prompt: "p" }
      })
      const paths = [
        ...lists.map((path) => `${path}?workspaceId=${workspaceId}`),
        `/api/cron-jobs/${dataOf<{ id: string }>(job).id}/fires?`
      ]
      for (const path of paths) {
        for (const [name, from, to] of [
          ["limit", 1, 100],
          ["offset", 0, Number.MAX_SAFE_INTEGER]
        ] as const) {
          const ask = (value: string) =>
            send("GET", `${path}&${name}=${encodeURIComponent(value)}`, { token })
          for (const value of noNumbers) {
            const sentence = `${name}: must be a whole number from ${from} to ${to}`
            isError(yield* ask(value), 400, "invalid_input", sentence)
          }
          for (const value of [String(from), "5", "100"]) {
            assert.strictEqual((yield* ask(value)).status, 200, `${name}=${value}`)
          }
        }
        isError(yield* send("GET", `${path}&limit=+5`, { token }), 400, "invalid_input")
        isError(yield* send("GET", `${path}&limit=5&limit=6`, { token }), 400, "invalid_input")
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is so in Last-Event-ID", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const task = yield* send("POST", "/api/tasks", { token, json: { workspaceId, prompt: "p" } })
      const run = `/api/runs/${dataOf<{ id: string }>(task).id}`
      // The stream of one that is over ends, and behind its end there is nothing.
      yield* send("POST", `${run}/cancel`, { token })
      const path = `${run}/events`
      const sentence = "last-event-id: must be a whole number from 0 to 9007199254740991"
      for (const value of ["1e1", "5.0", "010", "0x5", "+5", "-0", "5,6", "abc"]) {
        const headers = { "last-event-id": value }
        isError(yield* send("GET", path, { token, headers }), 400, "invalid_input", sentence)
      }
      for (const [value, status] of [
        ["0", 200],
        ["9007199254740991", 204]
      ] as const) {
        const headers = { "last-event-id": value }
        assert.strictEqual((yield* send("GET", path, { token, headers })).status, status, value)
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})

describe("a body", () => {
  const types = (withCharset: (charset: string) => string, charsets: ReadonlyArray<string>) =>
    charsets.map(withCharset)

  it.effect("that says that it is not UTF-8 is a 415", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const json = { workspaceId, name: "a" }
      const post = (type: string) =>
        send("POST", "/api/agents", { token, json, headers: { "content-type": type } })
      const sentence = "the request body must be application/json in UTF-8"
      for (const type of [
        ...types(
          (charset) => `application/json; charset=${charset}`,
          [
            "utf-16",
            "UTF-16LE",
            "utf-32",
            "iso-8859-1",
            "latin1",
            "windows-1252",
            "utf-7",
            "utf-8x",
            '"utf-16"',
            '"utf-8',
            "'utf-8'",
            '""',
            ""
          ]
        ),
        "application/json;version=1;charset=utf-16",
        "application/json ; CHARSET = utf-16",
        'application/json; note="charset=utf-8"; charset=utf-16',
        "application/json; charset=utf-8; charset=utf-16",
        "application/json; charset=utf-16; charset=utf-8"
      ]) {
        isError(yield* post(type), 415, "unsupported_media_type", sentence)
      }
      for (const type of [
        ...types(
          (charset) => `application/json; charset=${charset}`,
          ["utf-8", "UTF-8", "utf8", '"utf-8"', '"UTF-8"', "us-ascii"]
        ),
        "application/json",
        "APPLICATION/JSON;Charset=Utf-8",
        "application/json;",
        "application/json ; charset=utf-8 ; version=1",
        'application/json; note="charset=utf-16"',
        'application/json; note="a; charset=utf-16"',
        'application/json; note="\\"; charset=utf-16"'
      ]) {
        assert.strictEqual((yield* post(type)).status, 201, type)
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("that is not UTF-8 is a 400, whatever it says, and nothing of it is stored", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const text = JSON.stringify({ workspaceId, name: "a\u00e9" })
      for (const body of [
        Buffer.from(text, "latin1"),
        Buffer.from(text, "utf16le"),
        Buffer.concat([Buffer.from(text.slice(0, -3)), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
        Buffer.concat([Buffer.from(text.slice(0, -3)), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])
      ]) {
        for (const type of ["application/json", "application/json; charset=utf-8"]) {
          const options = { token, body, headers: { "content-type": type } }
          isError(yield* send("POST", "/api/agents", options), 400, "invalid_input")
        }
      }
      const list = yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token })
      assert.deepStrictEqual(dataOf(list), [])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is as large as its endpoint takes, and not larger", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const padded = (bytes: number) => JSON.stringify({ workspaceId, name: "a" }).padEnd(bytes)
      for (const [path, bytes, limit] of [
        ["/api/agents", 1024 * 1024, "1 MiB"],
        ["/api/projects", 64 * 1024, "64 KiB"]
      ] as const) {
        assert.strictEqual((yield* send("POST", path, { token, body: padded(bytes) })).status, 201)
        const refused = yield* send("POST", path, { token, body: padded(bytes + 1) })
        const sentence = `the request body is larger than ${limit}`
        isError(refused, 413, "payload_too_large", sentence)
        const headers = { "content-length": "", "transfer-encoding": "chunked" }
        const chunked = yield* send("POST", path, { token, body: padded(bytes + 1), headers })
        isError(chunked, 413, "payload_too_large", sentence)
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("that takes long to parse is a 400 that names the field, also where nobody knows it", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const agent = `"workspaceId":"${workspaceId}","name":"a"`
      const post = (field: string) => send("POST", "/api/agents", { token, body: `{${agent},${field}}` })
      const deep = (levels: number) => `"extra":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}`
      const keys = (count: number) =>
        `"extra":{${Array.from({ length: count }, (_, n) => `"k${n}":${n}`).join(",")}}`
      const values = (count: number) => `"extra":[${Array.from({ length: count }, () => 0).join(",")}]`
      for (const [most, least, problem] of [
        [deep(32), deep(33), "must be nested less deep: a body may have 32 levels"],
        [keys(1_000), keys(1_001), "must have at most 1,000 keys in one object"],
        [values(9_996), values(9_997), "must have fewer values: a body may have 10,000 in all"]
      ] as const) {
        assert.strictEqual((yield* post(most)).status, 201)
        isError(yield* post(least), 400, "invalid_input", `extra: ${problem}`)
      }
      const list = yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token })
      assert.lengthOf(dataOf<ReadonlyArray<unknown>>(list), 3)
    }).pipe(Effect.provide(layerOffline()))
  )
})
