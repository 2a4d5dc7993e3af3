/** What OpenTelemetry tells apart, each sent to an address of its own. */
export type Signal = "traces" | "metrics" | "logs"

export type Pairs = ReadonlyArray<readonly [key: string, value: string]>

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * `key=value,key=value`, as OpenTelemetry writes headers and attributes: values in percent-encoding, white space around
 * them is none of them, and empty members are skipped. Undefined where it can't be read.
 */
export const pairsOf = (text: string): Pairs | undefined => {
  const pairs: Array<readonly [string, string]> = []
  for (const member of text.split(",")) {
    if (member.trim() === "") continue
    const at = member.indexOf("=")
    const key = decoded(member.slice(0, Math.max(at, 0)).trim())
    const value = decoded(member.slice(at + 1).trim())
    if (key === undefined || key === "" || value === undefined) return undefined
    pairs.push([key, value])
  }
  return pairs
}

export const attributesProblem = (text: string): string | undefined =>
  pairsOf(text) === undefined
    ? "must be key=value pairs, separated by commas, with values in percent-encoding"
    : undefined

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u
const headerValue = /^[\t\x20-\x7e]*$/u

/** Of headers, without repeating any: they are secrets. */
export const headersProblem = (text: string): string | undefined =>
  pairsOf(text)?.every(([name, value]) => headerName.test(name) && headerValue.test(value)) === true
    ? undefined
    : "must be name=value pairs of HTTP headers, separated by commas, with values in percent-encoding"

/** The address for a signal below the one that all share: its path and `v1/…`. */
export const endpointOf = (base: string, signal: Signal): string => {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/$/u, "")}/v1/${signal}`
  return url.href
}

export const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

export interface Sampling {
  readonly sampler: (typeof samplers)[number]
  /** Of traces, from 0 to 1, where the sampler asks for it. */
  readonly ratio: number
}

/** The share that a text says, from 0 to 1. */
export const ratioOf = (text: string): number | undefined =>
  /^(0|1|[01]?\.\d+)$/u.test(text) && Number(text) <= 1 ? Number(text) : undefined

/** So many of the last hexadecimal digits of a trace id are random in every trace id (W3C), and fit into a number. */
const digits = 13

/**
 * Whether a trace is kept, as OpenTelemetry samples at its head: `parentSampled` is what the caller has decided about
 * it, undefined where there is no caller. The same id is always answered the same.
 */
export const isSampled = (
  { ratio, sampler }: Sampling,
  traceId: string,
  parentSampled: boolean | undefined
): boolean => {
  if (parentSampled !== undefined && sampler.startsWith("parentbased_")) return parentSampled
  switch (sampler.replace("parentbased_", "")) {
    case "always_on":
      return true
    case "always_off":
      return false
    default:
      return Number.parseInt(traceId.slice(-digits), 16) < ratio * 16 ** digits
  }
}

/** How the queue of a signal is kept: as OpenTelemetry names it, each of them a bound. */
export interface Batching {
  /** How many wait at most; more are dropped. */
  readonly queue: number
  readonly batch: number
  readonly delayMillis: number
}

/** Where a signal goes, and how. */
export interface Destination {
  readonly url: string
  readonly headers: Pairs
  readonly protocol: "http/protobuf" | "http/json"
  readonly compression: "gzip" | "none"
  readonly timeoutMillis: number
}

/** All that is told of this process, and where; a signal that is not there is not told. */
export interface TelemetryPlan {
  readonly destinations: Partial<Readonly<Record<Signal, Destination>>>
  readonly serviceName: string | undefined
  readonly attributes: Pairs
  readonly sampling: Sampling
  readonly spans: Batching
  readonly logs: Batching
  readonly metricsMillis: number
  readonly valueLength: number
  readonly captureContent: boolean
  readonly sqlSpans: boolean
  readonly propagation: boolean
}
