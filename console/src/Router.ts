import { signal } from "@preact/signals"

/** Where the console is: `#/runs/run_1?status=FAILED` is `{ path: ["runs", "run_1"], query: {status} }`. */
export interface Route {
  readonly path: ReadonlyArray<string>
  readonly query: URLSearchParams
}

export type Query = Readonly<Record<string, string | undefined>>

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Reads a hash; what is malformed in it is taken as it is. */
export const parse = (hash: string): Route => {
  const [path = "", ...query] = hash.replace(/^#?\/?/, "").split("?")
  return {
    path: path
      .split("/")
      .filter((part) => part !== "")
      .map(decoded),
    query: new URLSearchParams(query.join("?"))
  }
}

/** The address of a view, as `href` of a link: without what is undefined or empty. */
export const href = (path: ReadonlyArray<string>, query: Query = {}): string => {
  const set = Object.entries(query).filter((pair): pair is [string, string] => (pair[1] ?? "") !== "")
  const search = new URLSearchParams(set).toString()
  return `#/${path.map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`
}

export const route = signal<Route>(parse(location.hash))

addEventListener("hashchange", () => {
  route.value = parse(location.hash)
})

/** Goes to a view: with `replace` the way back does not lead here again. */
export const go = (to: string, options: { readonly replace?: boolean } = {}): void => {
  if (options.replace !== true) {
    location.hash = to
    return
  }
  history.replaceState(null, "", to)
  route.value = parse(location.hash)
}

/** Changes what of the query is named and keeps the rest. */
export const setQuery = (
  change: Query,
  options: { readonly replace?: boolean } = { replace: true }
): void => {
  const { path, query } = route.value
  go(href(path, { ...Object.fromEntries(query), ...change }), options)
}
