import { assert, describe, it } from "@effect/vitest"
import * as OpenApi from "effect/http-api/OpenApi"
import { Api } from "../../src/Api/Api.ts"
import {
  type EndpointRow,
  endpoints,
  type Given,
  type Resource,
  type Returned,
  resources
} from "./Specification.ts"

interface Json {
  readonly [name: string]: Json
}

const document = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))
const operations: ReadonlyArray<readonly [name: string, operation: Json]> = Object.entries<Json>(
  document.paths
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const)
)
const operationOf = ({ method, path }: EndpointRow): Json => document.paths[path]?.[method]

/** A schema without references, and without the null that it may be. */
const resolve = (schema: Json): { readonly schema: Json; readonly nullable: boolean } => {
  if (typeof schema.$ref === "string") {
    return resolve(document.components.schemas[(schema.$ref as string).split("/").at(-1) ?? ""])
  }
  if (!Array.isArray(schema.anyOf)) return { schema, nullable: false }
  const others = schema.anyOf.filter(({ type }: Json) => (type as unknown) !== "null")
  assert.lengthOf(others, 1)
  return { schema: resolve(others[0]).schema, nullable: others.length < schema.anyOf.length }
}

/** What a schema says of a field, in the words of the tables. */
const describeReturned = (given: Json): unknown => {
  const { nullable, schema } = resolve(given)
  const resource = Object.entries(schema.properties ?? {})
  const item = schema.items === undefined ? undefined : resolve(schema.items).schema
  return {
    type:
      (schema.type as unknown) === "array"
        ? item?.properties === undefined
          ? "strings"
          : [Object.keys(item.properties).sort()]
        : resource.length > 0
          ? Object.keys(schema.properties ?? {}).sort()
          : schema.type,
    nullable,
    values: schema.enum ?? null
  }
}

const expectReturned = ({ nullable, type, values }: Returned) => ({
  type:
    typeof type === "string"
      ? type in resources
        ? Object.keys(resources[type as Resource]).sort()
        : type === "date-time"
          ? "string"
          : type
      : [Object.keys(resources[type[0]]).sort()],
  nullable: nullable ?? false,
  values: values ?? null
})

const jsonTypes = {
  text: "string",
  id: "string",
  boolean: "boolean",
  texts: "array",
  object: "object",
  integer: "integer"
}

const describeGiven = (given: Json, isId: boolean): unknown => {
  const { nullable, schema } = resolve(given)
  const { enum: values, maxLength, maximum, minLength, minimum, type } = schema
  return {
    type,
    nullable,
    values: values ?? null,
    length: isId || minLength === undefined ? null : [minLength, maxLength],
    range: minimum === undefined ? null : [minimum, maximum]
  }
}

const expectGiven = ({ length, nullable, range, type, values }: Given): unknown => ({
  type: jsonTypes[type],
  nullable: nullable ?? false,
  values: values ?? null,
  length: length ?? null,
  range: range ?? null
})

const fieldsOf = <A>(fields: Readonly<Record<string, A>>, describe: (field: A, name: string) => unknown) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, describe(field, name)]))

const requiredOf = (fields: Readonly<Record<string, Given>>) =>
  Object.keys(fields)
    .filter((name) => fields[name]?.required === true)
    .sort()

describe("the OpenAPI document has, beside extensions, what the specification has", () => {
  const marked = operations.filter(([, operation]) => "x-agentd-extension" in operation)

  it("these endpoints and no other", () => {
    assert.sameMembers(
      operations.filter((operation) => !marked.includes(operation)).map(([name]) => name),
      endpoints.map(({ method, path }) => `${method} ${path}`)
    )
    assert.lengthOf(endpoints, 17)
  })

  it("and says of all others that they go beyond it", () => {
    assert.isAbove(marked.length, 17)
    for (const [name, operation] of marked) {
      assert.strictEqual<unknown>(operation["x-agentd-extension"], true, name)
    }
  })

  for (const row of endpoints) {
    describe(`${row.method} ${row.path}`, () => {
      it("status and both ways to authenticate", () => {
        const { responses, security } = operationOf(row)
        const good = Object.keys(responses ?? {}).filter((status) => status.startsWith("2"))
        assert.deepStrictEqual(good, [String(row.status)])
        assert.deepStrictEqual<unknown>(security, [{ bearer: [] }, { session: [] }])
      })

      it("body fields", () => {
        const { requestBody } = operationOf(row)
        if (row.body === undefined) return assert.isUndefined(requestBody)
        const content = requestBody?.content ?? {}
        assert.deepStrictEqual(Object.keys(content), ["application/json"])
        const { schema } = resolve(content["application/json"]?.schema ?? {})
        const body = row.body
        assert.deepStrictEqual(
          fieldsOf(schema.properties ?? {}, (field, name) => describeGiven(field, body[name]?.type === "id")),
          fieldsOf(body, expectGiven)
        )
        assert.deepStrictEqual<unknown>(
          [...((schema.required ?? []) as unknown as Array<string>)].sort(),
          requiredOf(body)
        )
      })

      it("query and path parameters", () => {
        const parameters = (operationOf(row).parameters ?? []) as unknown as ReadonlyArray<Json>
        const names = (where: string) =>
          parameters
            .filter((parameter) => (parameter.in as unknown) === where)
            .filter((parameter) => (parameter["x-agentd-extension"] as unknown) !== true)
            .map(({ name }) => String(name))
        assert.deepStrictEqual(names("path"), row.path.endsWith("{id}") ? ["id"] : [])
        const query = row.query ?? {}
        assert.sameMembers(names("query"), Object.keys(query))
        for (const { in: where, name, required, schema } of parameters) {
          const given = query[String(name)]
          if ((where as unknown) !== "query" || given === undefined || schema === undefined) continue
          assert.deepStrictEqual<unknown>(required, given.required ?? false, String(name))
          assert.deepStrictEqual(describeGiven(schema, given.type === "id"), expectGiven(given), String(name))
          assert.strictEqual(schema.default, given.absent, String(name))
        }
      })

      it("what it returns", () => {
        const content = operationOf(row).responses?.[row.status]?.content ?? {}
        const { returns } = row
        if (returns === "stream") return assert.deepStrictEqual(Object.keys(content), ["text/event-stream"])
        const { properties } = resolve(content["application/json"]?.schema ?? {}).schema
        const isPaged = typeof returns !== "string" && returns.length === 2
        assert.deepStrictEqual(Object.keys(properties ?? {}), isPaged ? ["data", "total"] : ["data"])
        const one = typeof returns === "string" ? properties?.data : properties?.data?.items
        const fields = Object.keys(resolve(one ?? {}).schema.properties ?? {})
        const name = typeof returns === "string" ? returns : returns[0]
        assert.sameMembers(fields, name === "success" ? ["success"] : Object.keys(resources[name]))
      })
    })
  }

  for (const [name, fields] of Object.entries(resources)) {
    const schema: Json =
      name === "ProviderKeySummary"
        ? resolve(document.components.schemas.Agent.properties.providerKey).schema
        : document.components.schemas[name]

    it(`the fields of ${name}, all of them always there`, () => {
      assert.deepStrictEqual(
        fieldsOf(schema.properties ?? {}, describeReturned),
        fieldsOf(fields, expectReturned)
      )
      assert.sameMembers([...(schema.required as unknown as Array<string>)], Object.keys(fields))
    })

    it(`the time stamps of ${name} say that they are date-times`, () => {
      for (const [field, { type }] of Object.entries(fields)) {
        if (type === "date-time")
          assert.strictEqual<unknown>(schema.properties?.[field]?.format, "date-time", field)
      }
    })
  }
})
