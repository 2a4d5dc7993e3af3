import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Redacted from "effect/Redacted"
import { Api } from "../../src/Api/Api.ts"
import { Auth } from "../../src/Services/Auth.ts"
import { bodies, isByLink, isOfEnded, makeWorld, operations, requestOf } from "../support/Operations.ts"
import { layerOffline } from "../support/Service.ts"

const marker = "intruder"

type Json = Readonly<Record<string, unknown>>

/** The name of every field of the contract: what answers show, and what requests may say. */
const everyField = (() => {
  const names = new Set<string>()
  const document: Json = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if (key === "properties") for (const name of Object.keys(inner)) names.add(name)
      look(inner)
    }
  }
  look(document)
  return { names, document: document as { paths: Json; components: { schemas: Json } } }
})()

/** The fields that the body of an operation has. */
const fieldsOf = (path: string, method: string): ReadonlySet<string> => {
  const { paths, components } = everyField.document
  const operation = (paths[path] as Json)[method.toLowerCase()] as {
    requestBody?: { content: Readonly<Record<string, { schema: { $ref?: string } }>> }
  }
  const reference = operation.requestBody?.content["application/json"]?.schema.$ref?.split("/").at(-1) ?? ""
  return new Set(Object.keys((components.schemas[reference] as { properties?: object })?.properties ?? {}))
}

/** Bodies of faces are open in the contract: what they have. */
const ofFaces: Readonly<Record<string, ReadonlyArray<string>>> = {
  "uiStream.send": [
    "id",
    "message",
    "messages",
    "messageId",
    "trigger",
    "projectId",
    "providerKeyId",
    "autonomyLevel",
    "instructions",
    "tools"
  ]
}

/** Those that refuse a request by what they do not know in it, which is their protocol's way. */
const refusesUnknown = ({ id }: { readonly id: string }) => id.startsWith("openAi.create")

/** What an object says of its prototype, as JSON: a literal would be read otherwise. */
const ofPrototype = `"__proto__":{"${marker}":"${marker}"},"constructor":{"prototype":{"${marker}":"${marker}"}}`

describe("fields that an endpoint does not have", () => {
  for (const operation of operations.filter((one) => one.id in bodies && !refusesUnknown(one))) {
    it.effect(`${operation.id} neither takes nor keeps them`, () =>
      Effect.gen(function* () {
        const auth = yield* Auth
        const { mine, other, send, snapshot } = yield* makeWorld
        const known = new Set([
          ...fieldsOf(operation.path, operation.method),
          ...(ofFaces[operation.id] ?? [])
        ])
        const foreign = [...everyField.names].filter((name) => !known.has(name))
        assert.includeMembers(foreign, ["createdAt", "hasCredential", "plan"])
        const { path, json } = requestOf(operation, mine.ids)
        if (isOfEnded(operation))
          yield* send("POST", `/api/runs/${mine.ids.run}/cancel`, { token: mine.token })
        const said = JSON.stringify({
          ...Object.fromEntries(foreign.map((name) => [name, marker])),
          ...json,
          ...(isByLink(operation) && { code: Redacted.value((yield* auth.issueLink(mine.user.id)).code) })
        })
        const answer = yield* send(operation.method, path, {
          token: mine.token,
          body: `${said.slice(0, -1)},${ofPrototype}}`
        })
        assert.isBelow(answer.status, 300, answer.text)
        assert.notInclude(answer.text, marker)
        for (const seen of yield* Effect.forEach([mine, other], snapshot))
          assert.notInclude(`${seen}`, marker)
        assert.isUndefined(({} as Json)[marker])
      }).pipe(Effect.provide(layerOffline()))
    )
  }

  it.effect("of metadata are its own, and say nothing of other objects", () =>
    Effect.gen(function* () {
      const { mine, send } = yield* makeWorld
      const create = (metadata: string) =>
        send("POST", "/api/connectors", {
          token: mine.token,
          body: `{"workspaceId":"${mine.workspaceId}","type":"mcp","metadata":${metadata}}`
        })
      const inherited = yield* create(`{"__proto__":{"url":"https://example.org/mcp","credential":"x"}}`)
      assert.strictEqual(inherited.status, 400)
      assert.include(inherited.text, "metadata.url: is required")
      const own = yield* create(`{"url":"https://example.org/mcp",${ofPrototype}}`)
      assert.strictEqual(own.status, 201, own.text)
      assert.include(own.text, `"hasCredential":false`)
      assert.isUndefined(({} as Json)[marker])
    }).pipe(Effect.provide(layerOffline()))
  )
})
