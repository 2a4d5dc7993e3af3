import { href, type Query } from "../../Router.ts"

let list = href(["runs"])

/** Keeps how the list was narrowed, for the way back to it. */
export const keepList = (query: Query): void => {
  list = href(["runs"], query)
}

/** The list as it was last looked at. */
export const listHref = (): string => list
