import { isAddress, type Networks } from "./Networks.ts"

/** An address of `X-Forwarded-For`, which some proxies write with a port. */
const withoutPort = (text: string): string => {
  const [, bracketed] = /^\[([^\]]*)\](:\d+)?$/u.exec(text) ?? []
  return bracketed ?? text.replace(/^([\d.]+):\d+$/u, "$1")
}

/**
 * From where a request comes: its peer, or, where that is a trusted proxy, who the proxies say: the last address of
 * `X-Forwarded-For` that is none of theirs. What stands left of it anybody may have written. Entries that are no
 * address say nothing: then it is the proxy that wrote them.
 */
export const clientOf = (peer: string, forwardedFor: string | undefined, trusted: Networks): string => {
  if (forwardedFor === undefined) return peer
  const entries = forwardedFor.split(",")
  let client = peer
  while (entries.length > 0 && trusted.contains(client)) {
    const next = withoutPort(entries.pop()?.trim() ?? "")
    if (!isAddress(next)) break
    client = next
  }
  return client
}
