import type { OpenAPISpec, OpenAPISpecMethodName } from "effect/http-api/OpenApi"
import { eventStreamType } from "./EventStream.ts"
import { componentOf, type ExampleSchema, makeExample } from "./Examples.ts"

interface Content {
  readonly schema?: ExampleSchema
}

interface Answer {
  readonly content?: Readonly<Record<string, Content>>
  readonly headers?: Readonly<Record<string, unknown>>
}

interface Operation {
  readonly requestBody?: Answer
  readonly responses: Readonly<Record<string, Answer>>
}

/**
 * What the generator can't know of the OpenAPI document: that unknown body fields are ignored and not
 * refused, where the service is, what requests and answers look like, and what headers every answer has.
 */
export const completeDocument = (given: Record<string, unknown>): Record<string, unknown> => {
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

  const complete = (operation: Operation) => ({
    ...operation,
    ...(operation.requestBody !== undefined && {
      requestBody: { ...operation.requestBody, content: withExample(operation.requestBody.content) }
    }),
    responses: mapped(operation.responses, (answer, status) => ({
      ...answer,
      ...(status.startsWith("2") && answer.content !== undefined && { content: withExample(answer.content) }),
      headers: { ...answer.headers, ...("429" in operation.responses && rates), "x-request-id": requestId }
    }))
  })

  return {
    ...document,
    components: { ...document.components, headers: rateHeaders },
    paths: mapped(document.paths, (methods) =>
      mapped(methods as Readonly<Record<OpenAPISpecMethodName, Operation>>, complete)
    )
  }
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
