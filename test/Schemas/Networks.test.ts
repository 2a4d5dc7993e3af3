import { isIP } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { none, parse, problemOf, siteOf } from "../../src/Schemas/Networks.ts"

const contains = (list: string, address: string) => parse(list)?.contains(address)

describe("a list of networks", () => {
  for (const [list, inside, outside] of [
    [
      "10.0.0.0/8",
      ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", "::FFFF:a01:203"],
      ["9.255.255.255", "11.0.0.0"]
    ],
    ["10.1.2.3/8", ["10.200.0.1"], ["11.1.2.3"]],
    ["192.168.7.9", ["192.168.7.9", "0:0:0:0:0:ffff:192.168.7.9"], ["192.168.7.8", "192.168.7.10"]],
    ["172.16.0.0/12", ["172.16.0.0", "172.31.255.255"], ["172.15.255.255", "172.32.0.0"]],
    ["0.0.0.0/0", ["0.0.0.0", "255.255.255.255", "::ffff:8.8.8.8"], ["::", "2001:db8::1"]],
    ["::/0", ["::", "::1", "ffff::"], ["0.0.0.0", "::ffff:8.8.8.8"]],
    ["::ffff:10.0.0.0/104", ["10.9.9.9", "::ffff:10.9.9.9"], ["11.0.0.0"]],
    ["fd00::/8", ["fd00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "FD12::1"], ["fc00::1", "fe00::"]],
    ["2001:db8::/33", ["2001:db8:7fff::"], ["2001:db8:8000::"]],
    ["fe80::/10", ["fe80::1%eth0", "febf::1"], ["fec0::"]],
    ["::1", ["::1", "0:0:0:0:0:0:0:1"], ["::2", "127.0.0.1"]],
    ["localhost", ["127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1"], ["128.0.0.1", "::2", "126.0.0.1"]],
    [" LOCALHOST , 10.0.0.0/8,,1.2.3.4/32 ", ["127.0.0.1", "10.0.0.1", "1.2.3.4"], ["1.2.3.5"]],
    ["", [], ["127.0.0.1", "::1"]],
    [
      "0.0.0.0/0, ::/0",
      ["1.1.1.1", "::1"],
      ["", "localhost", "unknown", "1.2.3", "01.2.3.4", "1.2.3.4:80", "[::1]", "::1]:80/["]
    ]
  ] as const) {
    it(`"${list}" contains what lies in it and nothing else`, () => {
      for (const address of inside) assert.isTrue(contains(list, address), address)
      for (const address of outside) assert.isFalse(contains(list, address), address)
    })
  }

  it.each([
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "10.0.0.0/08",
    "10.0.0/8",
    "10.0.0.256",
    "010.0.0.1",
    "0x7f.1",
    "::/129",
    "::ffff:10.0.0.0/95",
    "1::2::3",
    "[::1]",
    "fe80::1%eth0",
    "example.org",
    "true",
    "*",
    "10.0.0.0/8 192.168.0.0/16",
    "10.0.0.0/8, canary"
  ])("%s is none, and is not repeated", (list) => {
    assert.isUndefined(parse(list))
    assert.strictEqual(
      problemOf(list),
      "must be networks (10.0.0.0/8), addresses or localhost, separated by commas"
    )
  })

  it("reads what node takes for an address, and nothing else", () => {
    const all = parse("0.0.0.0/0, ::/0")
    for (const text of [
      ...[
        "0.0.0.0",
        "255.255.255.255",
        "256.1.1.1",
        "1.1.1",
        "1.1.1.1.",
        "00.1.1.1",
        "1.1.1.1 ",
        "1e1.1.1.1"
      ],
      ...[
        "::",
        "1::",
        "::1",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7::",
        "1::3:4:5:6:7:8",
        "::12345"
      ],
      ...[
        "::1.2.3.4",
        "1:2:3:4:5:6:1.2.3.4",
        "::1.2.3",
        "1.2.3.4::",
        ":::",
        ":",
        "g::",
        "::ffff:1.2.3.04",
        "::%"
      ]
    ]) {
      assert.strictEqual(all?.contains(text), isIP(text) !== 0, text)
    }
  })

  it("that is none contains nothing", () => {
    assert.isFalse(none.contains("127.0.0.1"))
    assert.isUndefined(problemOf("localhost"))
  })
})

describe("a site", () => {
  it("is an address of IPv4, however it is written, and 64 bits of IPv6", () => {
    assert.strictEqual(siteOf("10.0.0.1"), siteOf("::ffff:10.0.0.1"))
    assert.notStrictEqual(siteOf("10.0.0.1"), siteOf("10.0.0.2"))
    assert.strictEqual(siteOf("2001:db8:1:2:3::4"), siteOf("2001:DB8:1:2:ffff:ffff:ffff:ffff"))
    assert.notStrictEqual(siteOf("2001:db8:1:2::"), siteOf("2001:db8:1:3::"))
    assert.notStrictEqual(siteOf("0.0.0.1"), siteOf("0:0:0:1::"))
    assert.strictEqual(siteOf("unknown"), "unknown")
  })
})
