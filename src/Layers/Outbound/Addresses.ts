import { BlockList, isIP } from "node:net"

/** What IANA lists as not globally reachable, and what only a cloud's own machines reach. */
const deniedV4: ReadonlyArray<readonly [network: string, bits: number]> = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Azure's own services for a machine ("WireServer"), at a public address.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4]
]

/** Where IPv6 can be public at all: global unicast, and the two forms that lead to an IPv4 address. */
const reachable: ReadonlyArray<readonly [network: string, bits: number]> = [
  ["2000::", 3],
  ["::ffff:0:0", 96],
  ["64:ff9b::", 96]
]

/** Within global unicast: protocol assignments with Teredo, documentation, 6to4, documentation. */
const deniedV6: ReadonlyArray<readonly [network: string, bits: number]> = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20]
]

const allowed = new BlockList()
const denied = new BlockList()

for (const [network, bits] of reachable) allowed.addSubnet(network, bits, "ipv6")
for (const [network, bits] of deniedV6) denied.addSubnet(network, bits, "ipv6")
// A rule for IPv4 holds for the IPv4-mapped form (::ffff:0:0/96) too.
for (const [network, bits] of deniedV4) {
  denied.addSubnet(network, bits, "ipv4")
  denied.addSubnet(`64:ff9b::${network}`, 96 + bits, "ipv6")
}

/**
 * Whether an IP address, as `node:net` writes it, is one of the public internet. Whatever is not known to
 * be public is not: other texts, IPv6 outside of global unicast, tunnels (6to4, Teredo).
 */
export const isPublic = (address: string): boolean => {
  const family = isIP(address)
  if (family === 4) return !denied.check(address, "ipv4")
  return family === 6 && allowed.check(address, "ipv6") && !denied.check(address, "ipv6")
}
