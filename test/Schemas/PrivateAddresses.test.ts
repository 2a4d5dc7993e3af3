import { assert, describe, it } from "@effect/vitest"
import { allowedBy, problemOf } from "../../src/Schemas/PrivateAddresses.ts"

const isPublic = (address: string) => address === "8.8.8.8"

const allows = (setting: boolean | string, address: string, host = address) =>
  allowedBy(setting, isPublic)(address, host)

describe("problemOf", () => {
  it.each([
    "true",
    "false",
    "10.1.0.0/16",
    "localhost",
    "10.1.0.0/16,localhost",
    " 10.1.0.0/16 , ::1 ,",
    "fd00::/8,mcp,mcp.internal,a_b.example",
    "169.254.169.254",
    "Metadata.Google.Internal",
    "127.0.0.1"
  ])("takes %j", (value) => assert.isUndefined(problemOf(value)))

  it.each([
    "True",
    "TRUE",
    " true",
    "1",
    "yes",
    "on",
    "all",
    "none",
    "*",
    ",",
    "true,10.0.0.0/8",
    "10.1.0.0/33",
    "10.1.0",
    "10.1.0.0/16;localhost",
    "10.1.0.0/16 localhost",
    "256.1.1.1",
    "fd00::/129",
    "http://localhost",
    "localhost:3000",
    "*.internal",
    "-a",
    "a..b",
    "é.example",
    `${"a".repeat(64)}.example`
  ])("refuses %j without repeating it", (value) => {
    assert.strictEqual(
      problemOf(value),
      "must be true, false, or networks (10.1.0.0/16), addresses and names, separated by commas"
    )
  })
})

describe("allowedBy", () => {
  it("lets public addresses through, and all others with true alone", () => {
    for (const setting of [false, true, "10.1.0.0/16"]) assert.isTrue(allows(setting, "8.8.8.8"))
    for (const address of ["10.1.2.3", "127.0.0.1", "::1", "::ffff:10.1.2.3", "fe80::1"]) {
      assert.isFalse(allows(false, address))
      assert.isTrue(allows(true, address))
    }
  })

  it("lets through what is listed, and nothing beside it", () => {
    const list = "10.1.0.0/16, 192.168.1.7, fd12::/16, localhost, MCP.internal"
    for (const [address, host] of [
      ["10.1.2.3"],
      ["::ffff:10.1.2.3"],
      ["::ffff:a01:203"],
      ["192.168.1.7"],
      ["fd12::5"],
      ["127.0.0.1", "localhost"],
      ["127.0.0.1", "any.example"],
      ["::1"],
      ["172.16.0.9", "mcp.internal"],
      ["172.16.0.9", "MCP.Internal."]
    ] as const) {
      assert.isTrue(allows(list, address, host), `${address} ${host}`)
    }
    for (const [address, host] of [
      ["10.2.0.1"],
      ["::ffff:10.2.0.1"],
      ["64:ff9b::10.1.2.3"],
      ["192.168.1.8"],
      ["fd13::5"],
      ["172.16.0.9"],
      ["172.16.0.9", "other.internal"],
      ["172.16.0.9", "a.mcp.internal"]
    ] as const) {
      assert.isFalse(allows(list, address, host), `${address} ${host}`)
    }
  })

  const metadata = [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2:0:0::254",
    "fd20:ce::254",
    "fe80::a9fe:a9fe%eth0"
  ]

  it.each(metadata)("never opens %s but by its own entry", (address) => {
    const networks =
      "0.0.0.0/0,::/0,169.254.0.0/16,169.254.169.254/31,fd00:ec2::254/127,localhost,inside.example"
    for (const setting of [false, true, networks]) {
      assert.isFalse(allows(setting, address))
      assert.isFalse(allows(setting, address, "inside.example"))
    }
    const own = address.replace(/%.*/u, "")
    assert.isTrue(allows(`10.0.0.0/8,${own}`, address, "inside.example"))
    assert.isTrue(allows(`${own}/${own.includes(":") ? 128 : 32}`, address))
  })

  it("opens the names of clouds for it by their own entry alone", () => {
    for (const host of ["metadata.google.internal", "METADATA.google.internal.", "metadata.goog"]) {
      for (const setting of [false, true, "10.0.0.0/8,internal"]) {
        assert.isFalse(allows(setting, "10.1.2.3", host))
        assert.isFalse(allows(setting, "8.8.8.8", host))
      }
    }
    assert.isTrue(allows("metadata.google.internal", "169.254.169.254", "Metadata.google.internal"))
    assert.isFalse(allows("metadata.google.internal", "169.254.169.254", "other.example"))
  })
})
