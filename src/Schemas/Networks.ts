/** Some networks of IP addresses. */
export interface Networks {
  /** Whether an address lies in one of them; what is no IP address lies in none. */
  readonly contains: (address: string) => boolean
}

/** An address as a number; IPv4 inside IPv6 (`::ffff:0:0/96`) is IPv4. */
interface Address {
  readonly bits: 32 | 128
  readonly value: bigint
}

/** `prefix`: the first bits, which all addresses of it share. */
interface Network {
  readonly bits: 32 | 128
  readonly prefix: bigint
  readonly rest: bigint
}

const v4 = /^(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}$/u
const leadingZero = /(^|\.)0\d/u
const v6 = /^[\da-f:]+(:[\d.]+)?$/iu
const mappedPrefix = 0xffffn

const isV4 = (text: string): boolean => v4.test(text) && !leadingZero.test(text)

const valueOfV4 = (text: string): bigint =>
  BigInt(text.split(".").reduce((value, part) => value * 256 + Number(part), 0))

/** The eight groups of an address in the one form in which `URL` writes it. */
const valueOfV6 = (canonical: string): bigint => {
  const [head = "", tail] = canonical.split("::")
  const groupsOf = (text: string) => (text === "" ? [] : text.split(":"))
  const [first, last] = [groupsOf(head), groupsOf(tail ?? "")]
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array<string>(zeros).fill("0"), ...last]
  return BigInt(`0x${groups.map((group) => group.padStart(4, "0")).join("")}`)
}

/** An IP address in any of its written forms, an IPv6 zone (`%eth0`) left out; undefined: it is none. */
const addressOf = (text: string): Address | undefined => {
  if (isV4(text)) return { bits: 32, value: valueOfV4(text) }
  const plain = text.replace(/%[\w.-]+$/u, "")
  const hostname = v6.test(plain) ? URL.parse(`http://[${plain}]`)?.hostname : undefined
  if (hostname === undefined) return undefined
  const value = valueOfV6(hostname.slice(1, -1))
  return value >> 32n === mappedPrefix ? { bits: 32, value: value & 0xffff_ffffn } : { bits: 128, value }
}

const networkOf = (text: string): ReadonlyArray<Network> | undefined => {
  if (text.toLowerCase() === "localhost") return localhost
  const [written = "", length, ...more] = text.split("/")
  const address = addressOf(written)
  if (address === undefined || written.includes("%") || more.length > 0) return undefined
  // The length of a network of IPv4 that is written as IPv6 counts the bits before it as well.
  const whole = written.includes(":") ? 128 : 32
  if (length !== undefined && !/^(0|[1-9]\d{0,2})$/u.test(length)) return undefined
  const shared = Number(length ?? whole) - (whole - address.bits)
  if (shared < 0 || shared > address.bits) return undefined
  const rest = BigInt(address.bits - shared)
  return [{ bits: address.bits, prefix: address.value >> rest, rest }]
}

const localhost: ReadonlyArray<Network> = [
  { bits: 32, prefix: 127n, rest: 24n },
  { bits: 128, prefix: 1n, rest: 0n }
]

const partsOf = (list: string): ReadonlyArray<string> =>
  list
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")

/**
 * Networks (`10.0.0.0/8`), addresses and `localhost` (127.0.0.0/8 and ::1), separated by commas; an empty list contains
 * nothing. Bits behind the length of a network don't count. A network of IPv6 contains no IPv4 address, however that is
 * written, and one of IPv4 contains its addresses in their IPv6 form as well. Undefined: an entry is none of these.
 */
export const parse = (list: string): Networks | undefined => {
  const networks: Array<Network> = []
  for (const part of partsOf(list)) {
    const found = networkOf(part)
    if (found === undefined) return undefined
    networks.push(...found)
  }
  return {
    contains: (text) => {
      const address = networks.length === 0 ? undefined : addressOf(text)
      return (
        address !== undefined &&
        networks.some(({ bits, prefix, rest }) => bits === address.bits && address.value >> rest === prefix)
      )
    }
  }
}

/** What is wrong with such a list, as a predicate that never repeats it. */
export const problemOf = (list: string): string | undefined =>
  parse(list) === undefined
    ? "must be networks (10.0.0.0/8), addresses or localhost, separated by commas"
    : undefined

/** Whether a text is an IP address, in whatever form. */
export const isAddress = (text: string): boolean => addressOf(text) !== undefined

/** Contains nothing. */
export const none: Networks = { contains: () => false }

/**
 * What one customer of a network usually has: an IPv4 address, or the first 64 bits of an IPv6 one. A key, the same
 * for every way to write an address; what is none is its own.
 */
export const siteOf = (text: string): string => {
  const address = addressOf(text)
  if (address === undefined) return text
  return address.bits === 32 ? `4:${address.value}` : `6:${(address.value >> 64n).toString(16)}`
}
