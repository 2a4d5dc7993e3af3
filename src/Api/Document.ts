interface Tag {
  readonly name: string
  readonly description?: string
}

interface Operation {
  readonly tags?: ReadonlyArray<string>
  readonly parameters?: ReadonlyArray<{ readonly name: string; schema: unknown }>
}

/** Whole numbers of queries, which the generator knows only as strings. */
const bounds: Readonly<Record<string, readonly [minimum: number, maximum: number]>> = {
  limit: [1, 100],
  offset: [0, Number.MAX_SAFE_INTEGER]
}

/**
 * What the generator can't know of the OpenAPI document: whole numbers in queries with their bounds, that
 * unknown body fields are ignored and not refused, each tag once, and where the service is.
 */
export const completeDocument = (document: Record<string, unknown>): Record<string, unknown> => {
  const paths = document.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>
  for (const path of Object.values(paths)) {
    for (const operation of Object.values(path)) {
      for (const parameter of operation.parameters ?? []) {
        const [minimum, maximum] = bounds[parameter.name] ?? []
        if (minimum !== undefined) parameter.schema = { type: "integer", minimum, maximum }
      }
    }
  }
  const tags = new Map((document.tags as ReadonlyArray<Tag>).map((tag) => [tag.name, tag]))
  return withoutClosedObjects({ ...document, servers: [{ url: "/" }], tags: Array.from(tags.values()) })
}

const withoutClosedObjects = <A>(value: A): A => {
  if (Array.isArray(value)) return value.map(withoutClosedObjects) as A
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => name !== "additionalProperties" || inner !== false)
      .map(([name, inner]) => [name, withoutClosedObjects(inner)])
  ) as A
}
