import * as Dns from "node:dns"
import { isIP, type LookupFunction } from "node:net"
import type * as Undici from "@effect/platform-node/Undici"
import { AddressRefused } from "../../Schemas/Outbound.ts"

/** Why a host is not connected to, for the operator alone: whoever asked learns nothing of internal names. */
export interface Refusal {
  readonly host: string
  /** What it was found to be: nothing, or addresses that are not allowed. */
  readonly found: string
}

/** Who is let through; tests say how names resolve. */
export interface Guard {
  readonly isAllowed?: (address: string, host: string) => boolean
  readonly lookup?: LookupFunction
  readonly onRefusal?: (refusal: Refusal) => void
}

const connecting = { allowH2: false, timeout: 10_000 }
const mostShown = 8

/**
 * A connector of undici that opens sockets to allowed addresses only: the literal one, or those of DNS that
 * are allowed. It checks what it connects to, so a name that resolves differently each time gains nothing.
 * A refusal names the host as the request does, and is the same whether it does not exist or is not allowed.
 */
export const connector = (
  buildConnector: typeof Undici.buildConnector,
  { isAllowed, lookup = Dns.lookup as LookupFunction, onRefusal = () => undefined }: Guard
): Undici.buildConnector.connector => {
  if (isAllowed === undefined) return buildConnector({ ...connecting, lookup })
  const refused = (refusal: Refusal) => {
    onRefusal(refusal)
    return new AddressRefused({
      error:
        `${refusal.host} is no known host, or one in a private network that ` +
        "AGENTD_ALLOW_PRIVATE_ADDRESSES does not allow",
      isAway: true
    })
  }

  /** A lookup that answers with the allowed addresses alone, and refuses when none is left. */
  const allowedOnly: LookupFunction = (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, given) => {
      const found = error === null && typeof given !== "string" ? given : []
      const addresses = found.filter(({ address }) => isAllowed(address, hostname))
      const [first] = addresses
      if (first !== undefined) {
        return options.all ? callback(null, addresses) : callback(null, first.address, first.family)
      }
      const shown = found.slice(0, mostShown).map(({ address }) => address)
      callback(refused({ host: hostname, found: shown.join(", ") || (error?.code ?? "no address") }), [])
    })

  const connect = buildConnector({ ...connecting, lookup: allowedOnly })
  return (target, callback) => {
    const host = target.hostname
    if (isIP(host) === 0 || isAllowed(host, host)) return connect(target, callback)
    queueMicrotask(() => callback(refused({ host, found: host }), null))
  }
}
