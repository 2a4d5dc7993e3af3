import { refusalOf } from "./Outbound.ts"
import { rootOf } from "./Reason.ts"
import { cut, unprintable } from "./Text.ts"

const longest = 300

const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the receiver refuses connections",
  ECONNRESET: "the receiver closed the connection before it had answered",
  EHOSTUNREACH: "the receiver can't be reached",
  ENETUNREACH: "the receiver can't be reached",
  ETIMEDOUT: "the receiver can't be reached",
  UND_ERR_CONNECT_TIMEOUT: "the receiver takes no connection",
  UND_ERR_SOCKET: "the receiver closed the connection before it had answered",
  CERT_HAS_EXPIRED: "the certificate of the receiver has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate of the receiver is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate of the receiver is signed by an authority that is not known",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the certificate of the receiver is signed by an authority that is not known",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the certificate of the receiver is signed by an authority that is not known",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate of the receiver is for another name"
}

/**
 * Why a webhook was answered nothing, in one bounded sentence for its owner. Of the words of the machine below only a
 * code is told, and nothing of the address but its host: its path may be a secret.
 */
export const failureOf = (error: unknown): string => {
  const refusal = refusalOf(error)
  if (refusal !== undefined) return shown(refusal.error)
  const code = codeOf(error)
  if (code === undefined) return "the request to the receiver failed"
  return sentences[code] ?? shown(`the request to the receiver failed (${code})`)
}

/** One bounded line, without what a terminal would take for an order. */
export const shown = (text: string): string => cut(text.replace(unprintable, " ").toWellFormed(), longest)

const codeOf = (error: unknown): string | undefined => {
  const root = typeof error === "object" && error !== null ? rootOf(error) : undefined
  return root !== undefined && "code" in root && typeof root.code === "string" ? root.code : undefined
}
