import { assert, describe, it } from "@effect/vitest"
import type * as Schema from "effect/Schema"
import {
  hasSealed,
  holdsSecret,
  isSecretName,
  sealedField,
  secretsOfAddress,
  splitMetadata
} from "../../src/Schemas/ConnectorSecrets.ts"

const opaque = "Zm9vYmFyMTIzNDU2Nzg5"

describe("isSecretName", () => {
  it.each([
    "apiKey",
    "api_key",
    "API-KEY",
    "apikey",
    "APIKey",
    "xApiKey",
    "X-Api-Key",
    "key",
    "keys",
    "token",
    "tokens",
    "accessToken",
    "access_token",
    "accesstoken",
    "refresh.token",
    "tokenValue",
    "GITHUB_TOKEN",
    "token2",
    "secret",
    "clientSecret",
    "client_secret",
    "secretId",
    "password",
    "dbPassword",
    "passwd",
    "pwd",
    "passphrase",
    "authorization",
    "Proxy-Authorization",
    "auth",
    "credentials",
    "cookie",
    "Set-Cookie",
    "privateKey",
    "AWS_SECRET_ACCESS_KEY",
    "jwt",
    "sig",
    "bearer"
  ])("is %s", (name) => assert.isTrue(isSecretName(name)))

  it.each([
    "",
    "url",
    "name",
    "region",
    "tokenLimit",
    "token_count",
    "tokenUrl",
    "authorizationUrl",
    "authMethod",
    "keyId",
    "accessKeyId",
    "keyboard",
    "author",
    "passage",
    "tokenizer",
    "headerName",
    "passTheName",
    "side"
  ])("is not %j", (name) => assert.isFalse(isSecretName(name)))

  it("takes no longer for a long name", () => {
    assert.isTrue(isSecretName(`${"aA".repeat(8_000)}_token`))
    assert.isFalse(isSecretName("-".repeat(16_000)))
  })
})

describe("holdsSecret", () => {
  it.each<[string, Schema.Json]>([
    ["apiKey", "a"],
    ["options", { deep: [{ er: { password: "a" } }] }],
    ["tokens", ["a"]],
    ["credentials", { user: "a" }],
    ["list", [{ name: "Authorization", value: "a" }]],
    ["list", [{ key: "api_key", value: "a" }]],
    ["header", "Bearer a"],
    ["args", ["--api-key=a"]],
    ["env", ["API_KEY=a"]],
    ["note", "X-Api-Key: a"],
    ["pem", "-----BEGIN PRIVATE KEY-----\na\n-----END PRIVATE KEY-----"],
    [
      "chain",
      "-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\na"
    ],
    ["url", "https://user:a@host.example/"],
    ["url", "https://user@host.example/"],
    ["endpoint", "postgres://:a@host.example/db"],
    ["url", "https://host.example/?key=a"],
    ["url", "https://host.example/mcp?region=eu&access_token=a"],
    ["url", `https://host.example/?v=${opaque}`],
    ["url", `https://host.example/?${opaque}`],
    ["url", `https://host.example/s/${opaque}/mcp`],
    ["url", `https://${opaque}.host.example/mcp`],
    ["url", "https://host.example/#token=a"]
  ])("finds one in %s: %j", (name, value) => assert.isTrue(holdsSecret(name, value)))

  it.each<[string, Schema.Json]>([
    ["token", ""],
    ["token", null],
    ["token", 5],
    ["tokenLimit", 5],
    ["tokens", [1, true, null, ""]],
    ["region", "eu"],
    ["list", [{ name: "region", value: "eu" }]],
    ["list", [{ name: "Authorization" }]],
    ["url", "https://host.example:8080/mcp?region=eu&v=2&key="],
    ["url", "https://host.example/key/token#part"],
    ["note", "token: "],
    ["note", "the key = 5"],
    ["ca", "-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----"],
    ["url", "key://host"],
    ["nested", { a: [1, -2.5, { b: { c: "d" } }] }]
  ])("finds none in %s: %j", (name, value) => assert.isFalse(holdsSecret(name, value)))
})

describe("splitMetadata", () => {
  it("takes out the members that hold a secret as a whole, and leaves the others", () => {
    const metadata = {
      region: "eu",
      limit: 5,
      options: { a: 1, token: "s" },
      url: "https://h.example/?key=s"
    }
    assert.deepStrictEqual(splitMetadata(metadata), {
      open: { region: "eu", limit: 5 },
      secret: { options: { a: 1, token: "s" }, url: "https://h.example/?key=s" }
    })
    const open = { url: "https://h.example/mcp", tokenLimit: 5, token: null }
    assert.deepStrictEqual(splitMetadata(open), { open, secret: undefined })
  })

  it("seals what users call like the sealed part, and keeps members of odd names", () => {
    const metadata = JSON.parse(`{"${sealedField}":1,"__proto__":{"token":"s"},"constructor":"c"}`)
    const { open, secret } = splitMetadata(metadata)
    assert.strictEqual(JSON.stringify(open), '{"constructor":"c"}')
    assert.strictEqual(JSON.stringify(secret), `{"${sealedField}":1,"__proto__":{"token":"s"}}`)
  })
})

describe("hasSealed", () => {
  it("is true of a credential, of headers, and of a sealed part", () => {
    const bare = { metadata: { url: "u" }, sealedCredential: null }
    assert.isFalse(hasSealed(bare))
    assert.isTrue(hasSealed({ ...bare, sealedCredential: "v1." }))
    assert.isTrue(hasSealed({ ...bare, metadata: { headers: "v1." } }))
    assert.isTrue(hasSealed({ ...bare, metadata: { [sealedField]: "v1." } }))
  })
})

describe("secretsOfAddress", () => {
  it("are the values of secret parameters and the parts that look like a key", () => {
    const address = `https://host.example/s/${opaque}/mcp?key=a%20b&region=eu&v=${opaque}2`
    assert.deepStrictEqual(secretsOfAddress(address), [opaque, "a b", `${opaque}2`])
    assert.deepStrictEqual(secretsOfAddress("https://host.example/mcp?region=eu"), [])
    assert.deepStrictEqual(secretsOfAddress("no address"), [])
  })
})
