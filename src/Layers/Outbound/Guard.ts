import * as Dns from "node:dns"
import { isIP, type LookupFunction } from "node:net"
import type * as Undici from "@effect/platform-node/Undici"
import { AddressRefused } from "../../Schemas/Outbound.ts"

/** Who is let through; tests say how names resolve. */
export interface Guard {
  readonly isAllowed?: (address: string) => boolean
  readonly lookup?: LookupFunction
}

const connecting = { allowH2: false, timeout: 10_000 }

/**
 * A connector of undici that opens sockets to allowed addresses only: the literal one, or those of DNS that
 * are allowed. It checks what it connects to, so a name that resolves differently each time gains nothing.
 * A refusal names the host as the request does and keeps to itself what it resolved to.
 */
export const connector = (
  buildConnector: typeof Undici.buildConnector,
  { isAllowed, lookup = Dns.lookup as LookupFunction }: Guard
): Undici.buildConnector.connector => {
  if (isAllowed === undefined) return buildConnector({ ...connecting, lookup })
  const connect = buildConnector({ ...connecting, lookup: allowedOnly(isAllowed, lookup) })
  return (target, callback) => {
    if (isIP(target.hostname) === 0 || isAllowed(target.hostname)) return connect(target, callback)
    queueMicrotask(() => callback(refused(`${target.hostname} is`), null))
  }
}

/** A lookup that answers with the allowed addresses alone, and refuses when none is left. */
const allowedOnly =
  (isAllowed: (address: string) => boolean, lookup: LookupFunction): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null || typeof found === "string") return callback(error, found)
      const addresses = found.filter(({ address }) => isAllowed(address))
      const [first] = addresses
      if (first === undefined) return callback(refused(`${hostname} leads to`), [])
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family)
    })

const refused = (subject: string) =>
  new AddressRefused({
    error: `${subject} an address in a private network; set AGENTD_ALLOW_PRIVATE_ADDRESSES=true to allow it`
  })
