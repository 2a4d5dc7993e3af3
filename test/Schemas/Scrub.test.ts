import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeScrubber, scrubJson, secretsOfHeader } from "../../src/Schemas/Scrub.ts"
import { below, pick } from "../support/Chance.ts"

const secret = 'sk-9f/8+A_b"c\\d é%41='
const plain = "sk-canary-0123456789"

const base64 = (text: string) => Buffer.from(text).toString("base64")
const base64Url = (text: string) => Buffer.from(text).toString("base64url")
const json = (text: string) => JSON.stringify(text).slice(1, -1)
const escaped = (text: string) =>
  Array.from(text, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")
const percented = (text: string) =>
  Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")

/** How somebody may say a secret again. */
const forms: ReadonlyArray<readonly [name: string, write: (text: string) => string]> = [
  ["as it is", (text) => text],
  ["as JSON", json],
  ["as JSON with slashes escaped", (text) => json(text).replaceAll("/", "\\/")],
  ["as JSON in JSON", (text) => json(json(text))],
  ["as JSON in JSON in JSON", (text) => json(json(json(text)))],
  ["in unicode escapes", escaped],
  [
    "in upper unicode escapes",
    (text) => escaped(text).replace(/[a-f]{1,4}(?=\\|$)/gu, (hex) => hex.toUpperCase())
  ],
  ["as a part of an address", encodeURIComponent],
  ["in lower case there", (text) => encodeURIComponent(text).replace(/%../gu, (hex) => hex.toLowerCase())],
  ["as a form", (text) => new URLSearchParams({ a: text }).toString().slice(2)],
  ["all in percent", percented],
  ["all in upper percent", (text) => percented(text).toUpperCase()],
  ["twice in percent", (text) => encodeURIComponent(encodeURIComponent(text))],
  ["percent in JSON", (text) => json(encodeURIComponent(text))],
  ["cut by a line break", (text) => `${text.slice(0, 7)}\n${text.slice(7)}`],
  ["cut by line breaks", (text) => Array.from(text).join("\r\n")]
]
const encodings: ReadonlyArray<readonly [name: string, write: (text: string) => string]> = [
  ["base64", base64],
  ["base64 for addresses", base64Url],
  ["base64 without padding", (text) => base64(text).replaceAll("=", "")],
  ["base64 behind a user", (text) => base64(`user:${text}`)],
  ["base64 behind one letter", (text) => base64(`u${text}`)],
  ["base64 behind two letters", (text) => base64Url(`us${text}`)],
  ["base64 before others", (text) => base64(`${text} and more`)],
  ["base64 in an address", (text) => encodeURIComponent(base64(`${text}?`))],
  ["base64 in JSON", (text) => json(base64(`??${text}`)).replaceAll("/", "\\/")],
  ["base64 in lines", (text) => base64(text).replace(/.{5}/gu, "$&\n")]
]

describe("makeScrubber", () => {
  for (const [name, write] of forms) {
    it(`finds a secret ${name}`, () => {
      for (const one of [secret, plain]) {
        const { text } = makeScrubber([one])
        assert.strictEqual(text(`before ${write(one)}, after`), "before [hidden], after")
      }
    })
  }

  for (const [name, write] of encodings) {
    it(`finds a secret in ${name}`, () => {
      for (const one of [secret, plain]) {
        const { text } = makeScrubber([one])
        const said = text(`before ${write(one)}, after`)
        assert.match(said, /^before .{0,12}\[hidden\].{0,20}, after$/su)
        // At the ends a letter may hold some bits of what is beside it.
        const letters = said
          .slice(7, -7)
          .replace("[hidden]", "")
          .replace(/[^\w+/-]/gu, "")
        assert.isBelow(Buffer.from(letters, "base64").length, 16)
      }
    })
  }

  it("leaves what is none, short ones, and their parts", () => {
    const { text } = makeScrubber([plain, "short", "1234567", ""])
    for (const said of [
      "",
      "short 1234567",
      plain.slice(1),
      plain.slice(0, -1),
      "100% of \\ %zz \\u12 %",
      "é𝄞\n"
    ]) {
      assert.strictEqual(text(said), said)
    }
    assert.strictEqual(makeScrubber(["12345678"]).text("12345678"), "[hidden]")
    assert.isUndefined(makeScrubber(["1234567"]).pieces)
    assert.strictEqual(makeScrubber([]).text(plain), plain)
  })

  it("leaves nothing over of one that holds another, or overlaps it", () => {
    const { text } = makeScrubber(["abcdefgh", "abcdefgh-longer", "fgh-longer-still", "h-longer"])
    assert.strictEqual(text("x abcdefgh-longer y"), "x [hidden] y")
    assert.strictEqual(text("x abcdefgh-longer-still y"), "x [hidden] y")
    assert.strictEqual(text("abcdefgh abcdefghabcdefgh"), "[hidden] [hidden][hidden]")
    assert.strictEqual(text("abcdefgabcdefgh-longe"), "abcdefg[hidden]-longe")
  })

  it("takes a time that grows with the text alone, whatever is in it", () => {
    const same = "a".repeat(8_000)
    const { pieces, text } = makeScrubber([
      `${same}b`,
      ...Array.from({ length: 200 }, (_, n) => `aaaaaaaa${n}`)
    ])
    const long = "a".repeat(1_000_000)
    assert.strictEqual(text(long), long)
    assert.strictEqual(text("%25".repeat(300_000)), "%25".repeat(300_000))
    assert.strictEqual(text("\\".repeat(1_000_000)).length, 1_000_000)
    const stream = pieces?.()
    let told = ""
    for (let n = 0; n < 100; n++) told += stream?.next("a".repeat(1_000)) ?? ""
    assert.strictEqual(told + (stream?.end() ?? ""), "a".repeat(100_000))
  })
})

describe("a text in pieces", () => {
  const all = [...forms, ...encodings]

  it.each(all.map(([name]) => name))("is scrubbed as a whole one, a secret being there %s", (name) => {
    const write = all.find(([other]) => other === name)?.[1] ?? assert.fail()
    const scrubber = makeScrubber([secret, plain])
    const whole = `a ${write(secret)} b ${write(plain)}${write(plain)}`
    const expected = scrubber.text(whole)
    for (let size = 1; size < 12; size++) {
      const stream = scrubber.pieces?.() ?? assert.fail()
      let told = ""
      for (let at = 0; at < whole.length; at += size) told += stream.next(whole.slice(at, at + size))
      assert.strictEqual(told + stream.end(), expected, `${size}`)
    }
  })

  it("is held back no further than where a secret may begin", () => {
    const stream = makeScrubber([plain]).pieces?.() ?? assert.fail()
    assert.strictEqual(stream.next("hello s"), "hello ")
    assert.strictEqual(stream.next("o it is sk-"), "so it is ")
    assert.strictEqual(stream.next("canary"), "")
    assert.strictEqual(stream.next("!"), "sk-canary!")
    assert.strictEqual(stream.next("100%"), "100")
    assert.strictEqual(stream.end(), "%")
    assert.strictEqual(stream.end(), "")
  })

  it("is held back in bounds", () => {
    const stream = makeScrubber(["abcdefgh"]).pieces?.() ?? assert.fail()
    let held = 0
    let told = 0
    for (let n = 0; n < 4_000; n++) {
      const said = stream.next(n === 0 ? "a" : "\n")
      told += said.length
      held = Math.max(held, n + 1 - told)
    }
    assert.isBelow(held, 2_000)
    assert.strictEqual(told + stream.end().length, 4_000)
    const periodic = makeScrubber(["abababab"]).pieces?.() ?? assert.fail()
    let said = ""
    for (let n = 0; n < 5_000; n++) said += periodic.next(n % 2 === 0 ? "a" : "b")
    assert.isAbove(said.length, 0)
    assert.match(said + periodic.end(), /^(?:\[hidden\]|[ab]){1,60}$/u)
  })

  it.effect("by chance: never says a secret, and nothing else is lost", () =>
    Effect.gen(function* () {
      const alphabet = Array.from('ab%25\\u"/+-_ 0=\né41')
      const word = Effect.fnUntraced(function* (length: number) {
        const letters = yield* Effect.replicateEffect(pick(alphabet), length)
        return letters.join("")
      })
      for (let round = 0; round < 400; round++) {
        const letters = (yield* word(4 + (yield* below(12)))).replaceAll("\n", "x")
        // Eight at least that no quoting takes away.
        const one = `${letters}key=12/4`
        const [, write] = yield* pick(all)
        const [before, after] = [yield* word(yield* below(20)), yield* word(yield* below(20))]
        const scrubber = makeScrubber([one])
        const whole = `${before}.${write(one)}.${after}`
        const expected = scrubber.text(whole)
        const label = JSON.stringify({ one, whole, expected })
        // What is around may make an escape of its begin, never of all of it.
        assert.notInclude(expected, one, label)
        assert.include(expected, "[hidden]", label)
        const stream = scrubber.pieces?.() ?? assert.fail()
        let told = ""
        for (let at = 0; at < whole.length; ) {
          const size = 1 + (yield* below(6))
          told += stream.next(whole.slice(at, at + size))
          at += size
        }
        assert.strictEqual(told + stream.end(), expected, label)
      }
    })
  )
})

describe("scrubJson", () => {
  it("takes it out of every text, names of members as well", () => {
    const { text } = makeScrubber([plain])
    assert.deepStrictEqual(scrubJson({ a: [plain, 1, null, { [plain]: `is ${plain}` }] }, text), {
      a: ["[hidden]", 1, null, { "[hidden]": "is [hidden]" }]
    })
  })
})

describe("secretsOfHeader", () => {
  it("are the value, what is behind the scheme, and what Basic encodes", () => {
    assert.deepStrictEqual(secretsOfHeader("abc"), ["abc"])
    assert.deepStrictEqual(secretsOfHeader("Bearer abc"), ["Bearer abc", "abc"])
    const encoded = btoa("user:pass:word")
    assert.deepStrictEqual(secretsOfHeader(`basic ${encoded}`), [
      `basic ${encoded}`,
      encoded,
      "user:pass:word",
      "pass:word"
    ])
    assert.deepStrictEqual(secretsOfHeader("Basic é"), ["Basic é", "é"])
  })
})
