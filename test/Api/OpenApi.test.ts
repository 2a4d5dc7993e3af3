import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as OpenApi from "effect/http-api/OpenApi"
import { Api } from "../../src/Api/Api.ts"
import { chatEvents } from "./Specification.ts"

const root = resolve(import.meta.dirname, "../..")

/** Where each resource is, by hand; the longest path that fits says whose an operation is. */
const resources: Readonly<Record<string, string>> = {
  "/api/agents": "Agents",
  "/api/cron-jobs": "Cron jobs",
  "/api/connectors": "Connectors",
  "/api/tasks": "Tasks",
  "/api/runs": "Runs",
  "/api/approvals": "Approvals",
  "/api/audit": "Audit",
  "/api/chat": "Chat",
  "/api/chat/memory": "Memory",
  "/api/workspaces": "Workspaces",
  "/api/projects": "Projects",
  "/api/provider-keys": "Provider keys",
  "/api/tokens": "Tokens",
  "/api/usage": "Usage",
  "/api/webhooks": "Webhooks",
  "/api/webhook-deliveries": "Webhooks",
  "/v1": "OpenAI",
  "/api/ui": "UI stream",
  "/api/session": "Session",
  "/health": "System"
}

const resourceOf = (path: string) =>
  Object.entries(resources)
    .filter(([place]) => path === place || path.startsWith(`${place}/`))
    .sort(([a], [b]) => b.length - a.length)[0]?.[1]

/** CONTRACT.md section 2, and what ends approvals and runs that are over. */
const errorCodes = [
  "400 invalid_input",
  "401 unauthenticated",
  "403 forbidden",
  "403 plan_limit_exceeded",
  "403 budget_exceeded",
  "404 not_found",
  "409 conversation_busy",
  "409 agent_inactive",
  "409 approval_decided",
  "409 run_finished",
  "409 run_not_retryable",
  "409 webhook_inactive",
  "409 idempotency_conflict",
  "409 idempotency_in_progress",
  "429 rate_limited",
  "503 unavailable"
]

interface Header {
  readonly required: boolean
  readonly schema: { readonly enum: ReadonlyArray<string> }
}

interface Component {
  readonly $ref?: string
  readonly anyOf?: ReadonlyArray<Component>
  readonly required?: ReadonlyArray<string>
  readonly properties?: {
    readonly event?: { readonly enum: ReadonlyArray<string> }
    readonly data?: Component
  }
}

interface StreamMedia {
  readonly schema: Component
  readonly "x-oai-itemSchema": Component
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>
}

describe("openapi.json", () => {
  const document = OpenApi.fromApi(Api)
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods as Record<string, OpenApi.OpenAPISpecOperation>).map((operation) => ({
      path,
      ...operation
    }))
  )

  it("has one tag for each resource, and no other", () => {
    assert.sameMembers(
      document.tags.map(({ name }) => name),
      Array.from(new Set(Object.values(resources)))
    )
    for (const { operationId, path, tags } of operations) {
      assert.deepStrictEqual(tags, [resourceOf(path) ?? ""], operationId)
    }
  })

  it("names each operation by its resource", () => {
    const named = (name: string) => name.replaceAll(" ", "").toLowerCase()
    for (const { operationId = "", tags } of operations) {
      const [group = "", endpoint = "", ...rest] = operationId.split(".")
      assert.deepStrictEqual([tags.map(named), rest], [[named(group)], []], operationId)
      assert.match(endpoint, /^[a-z]+[A-Za-z]*$/, operationId)
    }
  })

  it("is what the contract says now (npm run openapi writes it)", () => {
    const committed = JSON.parse(readFileSync(resolve(root, "openapi.json"), "utf8"))
    assert.deepStrictEqual(committed, JSON.parse(JSON.stringify(OpenApi.fromApi(Api))))
  })

  it("says of each operation what it does, what comes back, and under which request id", () => {
    for (const { description, operationId, requestBody, responses, summary } of operations) {
      assert.isNotEmpty(summary, operationId)
      assert.isNotEmpty(description, operationId)
      const bodies = [
        requestBody,
        ...Object.entries(responses).flatMap(([status, answer]) => (status < "3" ? [answer] : []))
      ]
      for (const body of bodies) {
        const { example, schema } = (body?.content?.["application/json"] ?? {}) as Record<string, unknown>
        if (schema !== undefined) assert.isDefined(example, operationId)
      }
      for (const answer of Object.values(responses))
        assert.property(answer.headers, "x-request-id", operationId)
    }
  })

  it("says of each error answer which codes a program may see", () => {
    const codes = new Set<string>()
    for (const { operationId, responses } of operations) {
      for (const [status, answer] of Object.entries(responses)) {
        const header = answer.headers?.["x-error-code"] as Header | undefined
        assert.strictEqual(header !== undefined, status >= "4", `${operationId} ${status}`)
        if (header === undefined) continue
        assert.isTrue(header.required)
        assert.isNotEmpty(header.schema.enum)
        for (const code of header.schema.enum) codes.add(`${status} ${code}`)
      }
    }
    assert.sameMembers(Array.from(codes), errorCodes)
  })

  it("names the events of both streams, and shows one of each", () => {
    const { schemas } = document.components as unknown as { readonly schemas: Record<string, Component> }
    const ofComponent = ({ $ref = "" }: { readonly $ref?: string }) =>
      $ref.replace("#/components/schemas/", "")
    const streams = operations.flatMap(({ operationId, responses }) => {
      const stream = responses["200"]?.content?.["text/event-stream"] as unknown as StreamMedia | undefined
      return stream === undefined ? [] : [[operationId, stream] as const]
    })
    assert.deepStrictEqual(
      streams.map(([operationId, media]) => [
        operationId,
        ofComponent(media.schema),
        ofComponent(media["x-oai-itemSchema"])
      ]),
      [
        ["runs.events", "RunEventData", "RunEvent"],
        ["chat.send", "ChatEventData", "ChatEvent"]
      ]
    )
    for (const [operationId, { examples, schema, "x-oai-itemSchema": frame }] of streams) {
      const frames = schemas[ofComponent(frame)]?.anyOf ?? []
      assert.deepStrictEqual(
        Array.from(new Set(frames.map(({ properties }) => properties?.event?.enum[0]))),
        chatEvents,
        operationId
      )
      for (const { required } of frames) assert.deepStrictEqual(required, ["id", "event", "data"])
      const names = frames.map(({ properties }) => ofComponent(properties?.data ?? {}))
      assert.deepStrictEqual((schemas[ofComponent(schema)]?.anyOf ?? []).map(ofComponent), names)
      assert.deepStrictEqual(Object.keys(examples), names)
      for (const name of names) assert.isDefined(examples[name]?.value, `${operationId} ${name}`)
    }
  })

  it("has the version of the package, and a scheme that its readers know", () => {
    const { version } = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8"))
    assert.strictEqual(document.info.version, version)
    assert.deepStrictEqual(document.components.securitySchemes.bearer, { type: "http", scheme: "bearer" })
  })

  it("is clean under an OpenAPI linter", () => {
    const cli = resolve(root, "node_modules/@redocly/cli/bin/cli.js")
    const options = ["--config=test/Api/redocly.yaml", "--format=json", "--max-problems=1000"]
    const { stderr, stdout } = spawnSync(process.execPath, [cli, "lint", "openapi.json", ...options], {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
    })
    const report = JSON.parse(stdout.slice(stdout.indexOf("{"))) as {
      readonly problems: ReadonlyArray<object>
    }
    assert.deepStrictEqual(report.problems, [], stderr)
  })
})
