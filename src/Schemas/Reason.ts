import * as Predicate from "effect/Predicate"

/** The innermost cause says what happened; what is around it says only that something did. */
export const rootOf = (error: object): object => {
  let root = error
  for (let depth = 0; depth < 10; depth++) {
    const inner = innerOf(root)
    if (inner === undefined) return root
    root = inner
  }
  return root
}

const innerOf = (error: object): object | undefined => {
  if ("reason" in error && Predicate.isObject(error.reason)) return error.reason
  if ("cause" in error && Predicate.isObject(error.cause)) return error.cause
  return "errors" in error && Array.isArray(error.errors) && Predicate.isObject(error.errors[0])
    ? error.errors[0]
    : undefined
}

/** What one error says of itself. */
export const messageOf = (error: object): string => {
  if ("error" in error && typeof error.error === "string") return error.error
  return "message" in error && error.message !== "" ? String(error.message) : String(error)
}

/** What the innermost cause says. */
export const reasonOf = (error: unknown): string =>
  Predicate.isObject(error) ? messageOf(rootOf(error)) : String(error)
