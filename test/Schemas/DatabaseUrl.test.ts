import { assert, describe, it } from "@effect/vitest"
import { hostOf, problemOf, type Tls, tlsOf } from "../../src/Schemas/DatabaseUrl.ts"

const form = "must look like postgres://user:password@host:5432/database"
const port = "must have a port from 1 to 65535"
const encoding = "must write a percent sign as %25, and other special characters likewise"
const system = "must have the sslmode verify-full, or none, where sslrootcert is system"
const modes = "must have an sslmode of disable, require, verify-ca, verify-full"

describe("the address of a database", () => {
  for (const [address, problem] of [
    ["foo", form],
    ["postgres", form],
    ["postgres:db", form],
    ["postgres:/db/x", form],
    ["postgres://", form],
    ["postgres:///", form],
    ["mysql://u:canary@db/agentd", form],
    ["http://db", form],
    ["//db/x", form],
    ["postgres://u:canary@d b/x", form],
    ["postgres://u:canary@db:70000/x", form],
    ["postgres://u:canary@db:port/x", form],
    ["postgres://u:can/ary@db/x", form],
    ["postgres://db:0/x", port],
    ["postgres://db/x?port=0", port],
    ["postgres://db/x?port=65536", port],
    ["postgres://db/x?port=1e3", port],
    ["postgres://u:can%ary@db/x", encoding],
    ["postgres://u%:canary@db/x", encoding],
    ["postgres://u@db/%x", encoding],
    ["postgres://u@one,two/x", "must name one host"],
    ["postgres://db/x?host=one,two", "must name one host"],
    ["postgres://db/x?sslmode=disabled", modes],
    ["postgres://db/x?sslmode=", modes],
    ["postgres://db/x?sslmode=prefer", `${modes}: prefer is in the clear where the server says so`],
    ["postgres://db/x?sslmode=allow", `${modes}: allow is in the clear where the server says so`],
    ["postgres://db/x?sslmode=verify-ca", "must name a file with sslrootcert where sslmode is verify-ca"],
    ...["disable", "require", "verify-ca"].map(
      (mode) => [`postgres://db/x?sslmode=${mode}&sslrootcert=system`, system] as const
    ),
    ["postgres://localhost/x?sslrootcert=system&sslmode=require", system],
    ["postgres://db/x?sslmode=verify-full&sslrootcert=", "must name a file with sslrootcert, or not have it"],
    ...["sslMode=verify-full", "ssl_mode=verify-full", "SSLMODE=disable", "ssl=true", "sslcert=/a.pem"].map(
      (parameter) =>
        [
          `postgres://db/x?${parameter}`,
          "must say with sslmode and sslrootcert how TLS is used: nothing else is read"
        ] as const
    )
  ] as const) {
    it(`${address} is refused`, () => {
      assert.strictEqual(problemOf(address), problem)
    })
  }

  const disable: Tls = { mode: "disable" }
  const require: Tls = { mode: "require" }
  for (const [address, host, tls] of [
    ["postgres://localhost/agentd", "localhost", disable],
    ["postgres://LOCALHOST/agentd", "LOCALHOST", disable],
    ["postgresql://u:p@127.0.0.1:5433/agentd", "127.0.0.1", disable],
    ["postgres://127.8.9.10/agentd", "127.8.9.10", disable],
    ["postgres://[::1]:5432/agentd", "::1", disable],
    ["postgres://[0:0:0:0:0:0:0:1]/agentd", "::1", disable],
    ["postgres:///agentd", "localhost", disable],
    ["postgres://%2Frun%2Fpostgresql/agentd", "/run/postgresql", disable],
    ["postgresql://agentd@localhost/agentd?host=/run/postgresql", "/run/postgresql", disable],
    ["postgres://db/agentd?host=/run/postgresql&sslmode=require", "/run/postgresql", disable],
    ["postgres://localhost/agentd?sslmode=require", "localhost", require],
    ["postgres://db.example.org/agentd", "db.example.org", require],
    ["postgres://localhost.example.org/agentd", "localhost.example.org", require],
    ["postgres://db", "db", require],
    ["postgres://10.0.0.5/agentd", "10.0.0.5", require],
    ["postgres://192.168.127.1/agentd", "192.168.127.1", require],
    ["postgres://[fd00::1]/agentd", "fd00::1", require],
    ["postgres://localhost/agentd?host=db", "db", require],
    ["postgres://db/agentd?sslmode=disable", "db", disable],
    ["postgres://db/agentd?sslmode=require&sslmode=disable", "db", disable],
    ["postgres://db/agentd?sslrootcert=system", "db", { mode: "verify-full", rootCert: null }],
    ["postgres://localhost/agentd?sslrootcert=system", "localhost", { mode: "verify-full", rootCert: null }],
    [
      "postgres://localhost/agentd?sslrootcert=/ca.pem",
      "localhost",
      { mode: "verify-ca", rootCert: "/ca.pem" }
    ],
    ["postgres://localhost/agentd?sslmode=disable&sslrootcert=/ca.pem", "localhost", disable],
    ["postgres:///agentd?host=/run/postgresql&sslrootcert=/ca.pem", "/run/postgresql", disable],
    ["postgres://db/agentd?sslrootcert=/ca.pem", "db", { mode: "verify-ca", rootCert: "/ca.pem" }],
    [
      "postgres://db/agentd?sslmode=require&sslrootcert=ca.pem",
      "db",
      { mode: "verify-ca", rootCert: "ca.pem" }
    ],
    [
      "postgres://db/agentd?sslmode=verify-ca&sslrootcert=ca.pem",
      "db",
      { mode: "verify-ca", rootCert: "ca.pem" }
    ],
    ["postgres://db/agentd?sslmode=verify-full", "db", { mode: "verify-full", rootCert: null }],
    [
      "postgres://db/agentd?sslmode=verify-full&sslrootcert=system",
      "db",
      { mode: "verify-full", rootCert: null }
    ],
    [
      "postgres://localhost/agentd?sslmode=verify-full&sslrootcert=%2Fca.pem",
      "localhost",
      { mode: "verify-full", rootCert: "/ca.pem" }
    ]
  ] as ReadonlyArray<readonly [string, string, Tls]>) {
    it(`${address} is ${host}, with ${tls.mode}`, () => {
      assert.isUndefined(problemOf(address))
      assert.strictEqual(hostOf(address), host)
      assert.deepStrictEqual(tlsOf(address), tls)
    })
  }
})
