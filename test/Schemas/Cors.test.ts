import { assert, describe, it } from "@effect/vitest"
import { isNamed, mayBringCookie, none, parse, problemOf } from "../../src/Schemas/Cors.ts"

const origins = (list: string) => parse(list) ?? assert.fail(`${list} is refused`)

describe("a list of origins", () => {
  for (const [list, ...named] of [
    [""],
    [" , "],
    ["https://app.example.com", "https://app.example.com"],
    [
      " HTTPS://App.Example.COM:443 ,,http://localhost:5173",
      "https://app.example.com",
      "http://localhost:5173"
    ],
    ["http://127.0.0.1:80,http://[::1]:3000", "http://127.0.0.1", "http://[::1]:3000"],
    ["https://bücher.example", "https://xn--bcher-kva.example"],
    ["chrome-extension://AbCd,capacitor://localhost", "chrome-extension://abcd", "capacitor://localhost"]
  ] as const) {
    it(`${JSON.stringify(list)} names what a browser writes`, () => {
      assert.deepStrictEqual(origins(list), new Set(named))
      assert.isUndefined(problemOf(list))
    })
  }

  it("* alone is any, and names nobody", () => {
    assert.strictEqual(parse(" * "), "any")
    assert.isFalse(isNamed("any", "https://app.example.com"))
  })

  it("names no more than it says", () => {
    const list = origins("https://app.example.com")
    assert.isTrue(isNamed(list, "https://app.example.com"))
    for (const origin of [
      "http://app.example.com",
      "https://app.example.com:8443",
      "https://app.example.com.evil.example",
      "https://evil-app.example.com",
      "https://example.com",
      "null",
      ""
    ]) {
      assert.isFalse(isNamed(list, origin), origin)
      assert.isFalse(isNamed(none, origin), origin)
    }
  })

  for (const value of [
    "canary",
    "null",
    "*,https://app.example.com",
    "https://*.example.com",
    "https://app.example.com/",
    "https://app.example.com/path",
    "https://user@app.example.com",
    "https://app.example.com?a",
    "https://app.example.com#a",
    "https://",
    "//app.example.com",
    "app.example.com",
    "https://a.example https://b.example",
    "https://app.example.com:99999"
  ]) {
    it(`${value} is none`, () => {
      assert.isUndefined(parse(value))
      const problem = problemOf(value) ?? ""
      assert.match(problem, /^must be \* alone, or origins/)
      assert.notInclude(problem, value.length > 1 ? "canary" : value)
    })
  }
})

describe("the cookie of another origin", () => {
  const list = origins("https://app.example.com,http://localhost:5173,tauri://localhost")
  for (const [origin, proto, may] of [
    ["https://app.example.com", "https", true],
    ["https://app.example.com", undefined, true],
    ["http://localhost:5173", undefined, true],
    ["http://localhost:5173", "http", true],
    ["http://localhost:5173", "https", false],
    ["http://localhost:5173", "https, http", false],
    ["tauri://localhost", undefined, false],
    ["https://evil.example", "https", false],
    ["null", undefined, false]
  ] as const) {
    it(`is ${may ? "taken" : "refused"}: ${origin} to ${proto ?? "the service itself"}`, () => {
      assert.strictEqual(mayBringCookie(list, origin, proto), may)
      assert.isFalse(mayBringCookie("any", origin, proto))
      assert.isFalse(mayBringCookie(none, origin, proto))
    })
  }
})
