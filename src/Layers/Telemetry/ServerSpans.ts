import { maskTokens } from "../../Schemas/Token.ts"

const longestPath = 200

/**
 * What is said of a request, by the semantic conventions for HTTP servers: no query, which may hold anything, nor a
 * token that somebody took for a path. The address that was found first is that of the client, past the proxies that
 * are trusted; the other is who has connected.
 */
export const serverAttribute = (
  known: ReadonlyMap<string, unknown>,
  key: string,
  value: unknown
): { readonly key: string; readonly value: unknown } | undefined => {
  switch (key) {
    case "url.full":
    case "url.query":
      return undefined
    case "url.path":
      return { key, value: typeof value === "string" ? pathOf(value) : value }
    case "http.route":
      return { key, value: typeof value === "string" ? templateOf(value) : value }
    case "client.address":
      return { key: known.has(key) ? "network.peer.address" : key, value }
    default:
      return { key, value }
  }
}

/** `POST /api/tasks/{id}`, of which there are few; of what has no route, the method. */
export const serverName = (name: string, attributes: ReadonlyMap<string, unknown>): string => {
  const route = attributes.get("http.route")
  return typeof route === "string" ? `${name} ${route}` : name
}

/** As the document of the API writes it. */
const templateOf = (route: string): string => route.replace(/:(\w+)/gu, "{$1}")

const pathOf = (path: string): string => {
  const read = path.replace(/%[0-7][0-9a-f]/giu, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(1), 16))
  )
  const masked = maskTokens(read)
  return (masked === read ? path : masked).slice(0, longestPath)
}
