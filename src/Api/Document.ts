/**
 * What the generator can't know of the OpenAPI document: that unknown body fields are ignored and not
 * refused, and where the service is.
 */
export const completeDocument = (document: Record<string, unknown>): Record<string, unknown> =>
  withoutClosedObjects({ ...document, servers: [{ url: "/" }] })

const withoutClosedObjects = <A>(value: A): A => {
  if (Array.isArray(value)) return value.map(withoutClosedObjects) as A
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => name !== "additionalProperties" || inner !== false)
      .map(([name, inner]) => [name, withoutClosedObjects(inner)])
  ) as A
}
