import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { isPublic } from "../../../src/Layers/Outbound/Addresses.ts"

/** The first and the last address of each network that is refused. */
const refused: ReadonlyArray<readonly [first: string, last: string]> = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["168.63.129.16", "168.63.129.16"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "239.255.255.255"],
  ["240.0.0.0", "255.255.255.255"]
]

const numberOf = (address: string) =>
  address.split(".").reduce((number, part) => number * 256 + Number(part), 0)

const textOf = (number: number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".")

const isRefusedNumber = (number: number) =>
  refused.some(([first, last]) => numberOf(first) <= number && number <= numberOf(last))

const hex = (number: number) => `${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`

/** An IPv4 address and the ways to write or embed it, all of which must get one answer. */
const formsOf = (number: number) => [
  textOf(number),
  `::ffff:${textOf(number)}`,
  `::FFFF:${hex(number)}`,
  `0:0:0:0:0:ffff:${hex(number)}`,
  `64:ff9b::${textOf(number)}`,
  `64:ff9b::${hex(number)}`,
  `0064:ff9b:0:0:0:0:${hex(number)}`
]

describe("addresses", () => {
  it.each(refused)("from %s to %s are refused, the ones beside them are not", (first, last) => {
    for (const number of [numberOf(first), numberOf(last)]) {
      for (const form of formsOf(number)) assert.isFalse(isPublic(form), form)
    }
    for (const number of [numberOf(first) - 1, numberOf(last) + 1]) {
      if (number < 0 || number > 0xffff_ffff) continue
      for (const form of formsOf(number)) assert.strictEqual(isPublic(form), !isRefusedNumber(number), form)
    }
  })

  it.each([
    "127.0.0.1",
    "169.254.169.254",
    "100.100.100.200",
    "192.0.0.192",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::2",
    "::fffe:8.8.8.8",
    "::1:ffff:8.8.8.8",
    "64:ff9b:1::8.8.8.8",
    "64:ff9b::1:808:808",
    "64:ff9a::8.8.8.8",
    "100::1",
    "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:20::1",
    "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db8::1",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "2002:7f00:1::1",
    "2002:808:808::1",
    "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff::1",
    "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1111%",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
  ])("%s is refused", (address) => {
    assert.isFalse(isPublic(address))
  })

  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "192.0.1.1",
    "198.17.255.255",
    "223.255.255.255",
    "2000::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2003::1",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "3ffe:ffff::1",
    "3fff:1000::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8"
  ])("%s is let through", (address) => {
    assert.isTrue(isPublic(address))
  })

  it.each([
    "",
    "localhost",
    "8.8.8",
    "134744072",
    "0x8080808",
    "010.8.8.8",
    "8.8.8.8 ",
    "[2606::1]",
    "2606::1/64"
  ])("%j is refused, being no address", (text) => {
    assert.isFalse(isPublic(text))
  })

  it.prop(
    "of IPv4 get the answer of the table in every form",
    [Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))],
    ([number]) => {
      for (const form of formsOf(number)) assert.strictEqual(isPublic(form), !isRefusedNumber(number), form)
    },
    { arbitrary: { runs: 1000 } }
  )

  it.prop(
    "of IPv6 are refused outside of global unicast, whatever they are",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 0xffff })), Schema.Int],
    ([head, tail]) => {
      const address = `${head.toString(16)}:1:1::${hex(tail)}`
      if (head >>> 13 !== 1) assert.isFalse(isPublic(address), address)
      else assert.strictEqual(isPublic(address), ![0x2001, 0x2002, 0x3fff].includes(head), address)
    },
    { arbitrary: { runs: 1000 } }
  )
})
