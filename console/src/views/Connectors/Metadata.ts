import type { ConnectorMetadata } from "../../../../src/Schemas/Connector.ts"

/** What a form says of how a connector is reached. */
export interface Entered {
  readonly url: string
  readonly credential: string
  /** A line each: `Name: value`. */
  readonly headers: string
  /** Whatever else its provider wants, as JSON. */
  readonly more: string
}

export const nothing: Entered = { url: "", credential: "", headers: "", more: "" }

const isObject = (value: unknown): value is ConnectorMetadata =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const headersOf = (lines: string): Record<string, string> | string => {
  const headers: Record<string, string> = {}
  for (const line of lines.split("\n")) {
    if (line.trim() === "") continue
    const at = line.indexOf(":")
    if (at < 1) return "metadata.headers: a line is a name, a colon and a value"
    headers[line.slice(0, at).trim()] = line.slice(at + 1).trim()
  }
  return headers
}

const moreOf = (text: string): ConnectorMetadata | string => {
  if (text.trim() === "") return {}
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : "metadata: must be a JSON object"
  } catch {
    return "metadata: is not valid JSON"
  }
}

/** The metadata that was entered, without what was left empty; or a sentence about what can't be understood. */
export const metadataOf = ({ credential, headers, more, url }: Entered): ConnectorMetadata | string => {
  const other = moreOf(more)
  if (typeof other === "string") return other
  const named = headersOf(headers)
  if (typeof named === "string") return named
  return {
    ...other,
    ...(url.trim() !== "" && { url: url.trim() }),
    ...(credential !== "" && { credential }),
    ...(Object.keys(named).length > 0 && { headers: named })
  }
}
