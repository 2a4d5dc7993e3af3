import * as Networks from "./Networks.ts"

/** Where clouds tell a machine its credentials: for their own machines alone, whatever network that is in. */
const metadataV4 = [
  "169.254.169.254",
  // AWS, for containers.
  "169.254.170.2",
  "169.254.170.23",
  // Alibaba, Oracle, Scaleway, Tencent, Azure ("WireServer").
  "100.100.100.200",
  "192.0.0.192",
  "169.254.42.42",
  "169.254.0.23",
  "168.63.129.16"
]

/** Of AWS, Google, Scaleway and OpenStack. */
const metadataV6 = ["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fe80::a9fe:a9fe"]

const metadataNames: ReadonlySet<string> = new Set([
  "instance-data",
  "instance-data.ec2.internal",
  "metadata",
  "metadata.goog",
  "metadata.google.internal",
  "metadata.tencentyun.com"
])

/** 6to4 of an IPv4 address. */
const sixToFour = (address: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number)
  return `2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::/48`
}

const listed = (list: ReadonlyArray<string>): Networks.Networks =>
  Networks.parse(list.join(",")) ?? Networks.none

/** In every form that leads there. */
const metadata = listed([
  ...metadataV6,
  ...metadataV4.flatMap((address) => [address, `::${address}`, `64:ff9b::${address}`, sixToFour(address)])
])

/** What is meant as an answer, and would be a name. */
const words: ReadonlySet<string> = new Set(["true", "false", "yes", "no", "on", "off", "all", "any", "none"])

const label = /^[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?$/u

/** Names alone: what looks like a number is a mistyped address. */
const isName = (entry: string): boolean => {
  const labels = entry.toLowerCase().split(".")
  return (
    entry.length <= 253 &&
    !words.has(entry.toLowerCase()) &&
    labels.every((part) => label.test(part)) &&
    /[a-z]/u.test(labels.at(-1) ?? "")
  )
}

const entriesOf = (list: string): ReadonlyArray<string> =>
  list
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")

const isNetwork = (entry: string): boolean => Networks.parse(entry) !== undefined

/** One address, not a network of several. */
const isSingle = (entry: string): boolean => {
  const [, length] = entry.split("/")
  return length === undefined || Number(length) === (entry.includes(":") ? 128 : 32)
}

/** What is wrong with a value of the setting, as a predicate that never repeats it. */
export const problemOf = (value: string): string | undefined => {
  if (value === "true" || value === "false") return undefined
  const entries = entriesOf(value)
  return entries.length > 0 && entries.every((entry) => isNetwork(entry) || isName(entry))
    ? undefined
    : "must be true, false, or networks (10.1.0.0/16), addresses and names, separated by commas"
}

const plainName = (host: string): string => host.toLowerCase().replace(/\.$/u, "")

/**
 * Whether a host may be connected to at an address, by a setting that is right: a public address; any with `true`; else
 * one of a listed network, or of a listed name. Where clouds keep credentials, only what is listed itself: that address,
 * or the cloud's own name for it.
 */
export const allowedBy = (setting: boolean | string, isPublic: (address: string) => boolean) => {
  const entries = typeof setting === "string" ? entriesOf(setting) : []
  const networks = listed(entries.filter(isNetwork))
  const singles = listed(entries.filter((entry) => isNetwork(entry) && isSingle(entry)))
  const names = new Set(entries.filter(isName).map(plainName))
  return (address: string, host: string): boolean => {
    const name = plainName(host)
    const isMetadataName = metadataNames.has(name)
    if (isMetadataName || metadata.contains(address)) {
      return singles.contains(address) || (isMetadataName && names.has(name))
    }
    return setting === true || isPublic(address) || networks.contains(address) || names.has(name)
  }
}
