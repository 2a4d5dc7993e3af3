import type { OpenAPISpec, OpenAPISpecMethodName } from "effect/http-api/OpenApi"
import { errorCodeHeader } from "./Errors.ts"
import { eventStreamType } from "./EventStream.ts"
import { componentOf, type ExampleSchema, makeExample } from "./Examples.ts"
import { extension } from "./Extension.ts"
import { idempotencyReplayedHeader } from "./Idempotency.ts"
import { webhookMessages } from "./WebhookMessages.ts"

interface Content {
  readonly schema?: ExampleSchema
}

interface Answer {
  readonly content?: Readonly<Record<string, Content>>
  readonly headers?: Readonly<Record<string, unknown>>
}

interface Operation {
  readonly operationId: string
  readonly parameters: ReadonlyArray<object>
  readonly requestBody?: Answer
  readonly responses: Readonly<Record<string, Answer>>
}

/**
 * What the generator can't know of the OpenAPI document: that unknown body fields are ignored and not
 * refused, where the service is, what requests and answers look like, and what headers every answer has.
 */
export const completeDocument =
  (codes: CodesOf) =>
  (given: Record<string, unknown>): Record<string, unknown> => {
    const document = withoutClosedObjects({ ...given, servers: [{ url: "/" }] }) as unknown as OpenAPISpec
    const components = document.components.schemas as Readonly<Record<string, ExampleSchema>>
    const exampleOf = makeExample(components)

    /** Of a stream one for each kind of data, by the name of its schema. */
    const examplesOf = (schema: ExampleSchema) => ({
      examples: Object.fromEntries(
        (components[componentOf(schema) ?? ""]?.anyOf ?? []).map((data) => [
          componentOf(data),
          { value: exampleOf(data) }
        ])
      )
    })

    const withExample = (content: Answer["content"]) =>
      mapped(content ?? {}, (media, contentType) => {
        if (media.schema === undefined) return media
        if (contentType === eventStreamType) return { ...media, ...examplesOf(media.schema) }
        const example = exampleOf(media.schema)
        return example === undefined ? media : { ...media, example }
      })

    const complete = (given: Operation, path: string, method: string) => {
      const own = withForm(given, path)
      const operation = method === "post" && isKeyed(path) ? withKey(own, codes(own.operationId)) : own
      return {
        ...operation,
        ...(operation.requestBody !== undefined && {
          requestBody: { ...operation.requestBody, content: withExample(operation.requestBody.content) }
        }),
        responses: mapped(operation.responses, (answer, status) => ({
          ...answer,
          ...(status.startsWith("2") &&
            answer.content !== undefined && { content: withExample(answer.content) }),
          headers: {
            ...answer.headers,
            ...("429" in operation.responses && rates),
            "x-request-id": requestId
          }
        }))
      }
    }

    return {
      ...document,
      components: { ...document.components, headers: rateHeaders },
      paths: mapped(document.paths, (methods, path) =>
        mapped(
          methods as unknown as Readonly<Record<OpenAPISpecMethodName, Operation>>,
          (operation, method) => complete(operation, path, method)
        )
      ),
      webhooks: webhookMessages
    }
  }

/** Under /v1 errors are in the form of OpenAI (CONTRACT.md section 14). */
const withForm = (operation: Operation, path: string): Operation =>
  path.startsWith("/v1/")
    ? {
        ...operation,
        responses: mapped(operation.responses, (answer, status) =>
          status.startsWith("2")
            ? answer
            : {
                ...answer,
                content: { "application/json": { schema: { $ref: "#/components/schemas/OpenAiError" } } }
              }
        )
      }
    : operation

/** The codes of the errors of an operation that are its own, by their status. */
export type CodesOf = (operationId: string) => Readonly<Record<string, ReadonlyArray<string>>>

const isKeyed = (path: string) => /^\/(api|v1)\//.test(path)

/** Takes an `Idempotency-Key` (CONTRACT.md section 9). Of two errors of one status the generator knows only the last. */
const withKey = (operation: Operation, own: ReturnType<CodesOf>): Operation => ({
  ...operation,
  parameters: [...operation.parameters, idempotencyKey],
  responses: mapped(operation.responses, (answer, status) => {
    if (status.startsWith("2")) {
      return { ...answer, headers: { ...answer.headers, [idempotencyReplayedHeader]: replayed } }
    }
    const codes = (answer.headers?.[errorCodeHeader] ?? {}) as { readonly schema?: { readonly enum: object } }
    const known = (codes.schema?.enum ?? []) as ReadonlyArray<string>
    const all = [...new Set([...(own[status] ?? []), ...known])]
    const header = { ...codes, schema: { ...codes.schema, enum: all } }
    // All errors have one body: that of the second one is no other.
    const content = mapped(answer.content ?? {}, ({ schema, ...media }) => ({
      ...media,
      schema: schema?.anyOf?.[0] ?? schema ?? {}
    }))
    return { ...answer, content, headers: { ...answer.headers, [errorCodeHeader]: header } }
  })
})

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "With it the request is done once, however often it is sent: 1 to 255 visible ASCII characters, known per user, " +
    "method and path for 24 hours (AGENTD_IDEMPOTENCY_HOURS). The same request again gets the same answer, another " +
    "one is a 409 (draft-ietf-httpapi-idempotency-key-header-08).",
  required: false,
  schema: { type: "string" },
  ...extension.override
}

const replayed = {
  description: "`true` where this was answered before, to the same `Idempotency-Key`.",
  required: false,
  schema: { type: "string", enum: ["true"] }
}

/** Where requests are counted (CONTRACT.md section 10). */
const rates = {
  "ratelimit-policy": { $ref: "#/components/headers/RateLimit-Policy" },
  ratelimit: { $ref: "#/components/headers/RateLimit" }
}

const rateHeaders = {
  "RateLimit-Policy": {
    description:
      "How many requests (`q`) there may be in `w` seconds: `default` of a token, `anonymous` without a valid one of " +
      "an address (draft-ietf-httpapi-ratelimit-headers-11).",
    schema: { type: "string" }
  },
  RateLimit: {
    description: "How many of them are left (`r`), and after how many seconds there is one more (`t`).",
    schema: { type: "string" }
  }
}

const requestId = {
  description: "What the log knows this request by: the `X-Request-Id` of the request, where it has one.",
  required: true,
  schema: { type: "string" }
}

const mapped = <A, B>(
  record: Readonly<Record<string, A>>,
  f: (value: A, name: string) => B
): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, f(value, name)]))

const withoutClosedObjects = <A>(value: A): A => {
  if (Array.isArray(value)) return value.map(withoutClosedObjects) as A
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => name !== "additionalProperties" || inner !== false)
      .map(([name, inner]) => [name, withoutClosedObjects(inner)])
  ) as A
}
