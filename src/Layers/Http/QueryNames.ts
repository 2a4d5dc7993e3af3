import * as Effect from "effect/Effect"
import { ParsedSearchParams } from "effect/http/HttpServerRequest"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as SchemaAST from "effect/SchemaAST"
import { InvalidInput } from "../../Schemas/Errors.ts"

/** How much of a name that a caller made up is said back, in code points. */
const longestName = 50

/**
 * Refuses a query parameter that `endpoint` does not have, or that is there twice: a misspelt filter must not return
 * everything (CONTRACT.md section 2). The names are those of the contract's own schema. Of several mistakes the
 * first is told; how many there can be is bounded by the length of the request line.
 */
export const requireKnown = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top) {
  const query = yield* ParsedSearchParams
  const known = namesOf(endpoint)
  for (const [name, value] of Object.entries(query)) {
    if (!known.has(name)) return yield* new InvalidInput({ error: sentenceOf(name, known) })
    // No parameter of the contract is a list.
    if (typeof value !== "string") return yield* new InvalidInput({ error: `${name}: must be given once` })
  }
})

const found = new WeakMap<HttpApiEndpoint.Top, ReadonlySet<string>>()

const namesOf = (endpoint: HttpApiEndpoint.Top): ReadonlySet<string> => {
  const known = found.get(endpoint)
  if (known !== undefined) return known
  const ast = endpoint.query === undefined ? undefined : SchemaAST.toEncoded(endpoint.query.ast)
  const names = new Set(
    ast !== undefined && SchemaAST.isObjects(ast)
      ? ast.propertySignatures.map(({ name }) => String(name))
      : []
  )
  found.set(endpoint, names)
  return names
}

const sentenceOf = (name: string, known: ReadonlySet<string>): string => {
  const [...points] = name
  const shown = points.length > longestName ? `${points.slice(0, longestName).join("")}…` : name
  return (
    `${shown === "" ? '""' : shown}: is no query parameter here; ` +
    (known.size === 0 ? "there are none" : `there are ${[...known].join(", ")}`)
  )
}
