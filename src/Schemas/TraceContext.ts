/** Where something belongs in a trace (W3C Trace Context): the trace, the span that caused it, and whether it is sampled. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits, not all 0. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits, not all 0. */
  readonly spanId: string
  readonly sampled: boolean
}

/** Version 00 ends behind the flags; of later ones what is behind them is not known. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/su

const longest = 256

/**
 * Reads `traceparent` as the W3C has it; nothing where it is malformed, which is as if it had not been sent. Of its
 * flags only `sampled` is known.
 */
export const readTraceparent = (text: string | null | undefined): TraceContext | undefined => {
  if (text == null || text.length > longest) return undefined
  const [, version, traceId, spanId, flags = "", rest] = form.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || (version === "00" && rest !== undefined))
    return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** As it is kept with a run and sent to others: version 00. */
export const toTraceparent = ({ sampled, spanId, traceId }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`

const offset = 0xcbf29ce484222325n
const prime = 0x100000001b3n

/** FNV-1a with 64 bits. */
const hashOf = (text: string): bigint => {
  let hash = offset
  for (let at = 0; at < text.length; at++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * prime)
  }
  return hash
}

/**
 * The id of the span of an epoch of a run, which is an execution as a rule: it follows from both, so that the next one
 * can link to the one before without anything having been written.
 */
export const executionSpanId = (runId: string, epoch: number): string =>
  (hashOf(`${runId}/${epoch}`) || 1n).toString(16).padStart(16, "0")
