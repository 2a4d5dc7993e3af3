import type * as Schema from "effect/Schema"
import { Api } from "../../src/Api/Api.ts"
import { bodyLimit } from "../../src/Api/BodyLimit.ts"

/** Every endpoint that takes a body, as the contract says it. */
export const writes = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).flatMap((endpoint) => {
    const schemas = [...endpoint.payload.values()].flatMap(
      (given): ReadonlyArray<Schema.Top> => given.schemas
    )
    const fields = schemas.flatMap(({ ast }) =>
      ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []
    )
    return schemas.length === 0
      ? []
      : [
          {
            id: `${group.identifier}.${endpoint.identifier}`,
            method: endpoint.method as string,
            path: endpoint.path as string,
            limit: bodyLimit(endpoint),
            fields
          }
        ]
  })
)

/** What a body has room for. */
export interface Room {
  readonly bytes: number
  /** What is counted before a body is parsed, where it is to be within that. */
  readonly values: number
  readonly keys: number
  readonly levels: number
}

/** `make(index)` joined with commas, as many as there is room for; each is so many values. */
const filled = ({ bytes, values }: Room, make: (index: number) => string, each = 1): string => {
  const parts: Array<string> = []
  for (let left = bytes, index = 0; index * each < values; index++) {
    const part = make(index)
    left -= part.length + 1
    if (left < 0) break
    parts.push(part)
  }
  return parts.join(",")
}

const keyed = (room: Room, make: (index: number) => string): string =>
  `{${filled({ ...room, values: room.keys }, make)}}`

const repeated = (bytes: number, text: string): string => text.repeat(Math.floor(bytes / text.length))

const nested = (open: string, close: string, levels: number): string =>
  `${open.repeat(levels)}1${close.repeat(levels)}`

const deep = ({ bytes, levels }: Room, open: string, close: string): string =>
  nested(open, close, Math.min(levels, Math.floor(bytes / (open.length + close.length))))

const object = (first: number, count: number, key: (index: number) => string): string =>
  `{${Array.from({ length: count }, (_, index) => `"${key(first * count + index)}":0`).join(",")}}`

const base36 = (index: number) => index.toString(36)

/** JSON texts that cost a reader the most. */
export const worstValues: Readonly<Record<string, (room: Room) => string>> = {
  "many keys": (room) => keyed(room, (n) => `"${base36(n)}":0`),
  "many number keys": (room) => keyed(room, (n) => `"${n}":0`),
  "many far number keys": (room) => keyed(room, (n) => `"${4_294_900_000 - n * 7}":0`),
  "one key many times": (room) => keyed(room, () => `"a":0`),
  "escaped keys": (room) => keyed(room, (n) => `"\\u0041${base36(n)}":0`),
  "long keys": (room) => keyed(room, (n) => `"${"k".repeat(900)}${n}":0`),
  "many __proto__": (room) => keyed(room, () => `"__proto__":{}`),
  "objects of 980 keys": (room) => `[${filled(room, (n) => object(n, 980, base36), 981)}]`,
  "objects of 980 number keys": (room) => `[${filled(room, (n) => object(n, 980, (k) => `${k * 7}`), 981)}]`,
  "objects of 20 new keys": (room) => `[${filled(room, (n) => object(n, 20, base36), 21)}]`,
  "objects of 20 long new keys": (room) =>
    `[${filled(room, (n) => object(n, 20, (k) => base36(k).padStart(90, "k")), 21)}]`,
  "objects of one new key": (room) => `[${filled(room, (n) => `{"${base36(n)}":0}`, 2)}]`,
  "objects of one key": (room) => `[${filled(room, () => `{"a":0}`, 2)}]`,
  "empty objects": (room) => `[${filled(room, () => "{}")}]`,
  "empty arrays": (room) => `[${filled(room, () => "[]")}]`,
  "arrays of 29 levels": (room) => `[${filled(room, () => nested("[", "]", 29), 30)}]`,
  "objects of 29 levels": (room) => `[${filled(room, () => nested('{"":', "}", 29), 30)}]`,
  "deep arrays": (room) => deep(room, "[", "]"),
  "deep objects": (room) => deep(room, '{"a":', "}"),
  "deep objects of two keys": (room) => deep(room, '{"b":{},"a":', "}"),
  zeros: (room) => `[${filled(room, () => "0")}]`,
  fractions: (room) => `[${filled(room, () => "0.1234567890123456789")}]`,
  "large and small numbers": (room) => `[${filled(room, (n) => `1e${n % 2 === 0 ? 308 : -320}`)}]`,
  "a long number": ({ bytes }) => repeated(bytes, "7"),
  "short texts": (room) => `[${filled(room, () => `"a"`)}]`,
  "short new texts": (room) => `[${filled(room, (n) => `"${base36(n)}"`)}]`,
  "long new texts": (room) => `[${filled(room, (n) => `"${base36(n).padStart(90, "é")}"`)}]`,
  "empty texts": (room) => `[${filled(room, () => `""`)}]`,
  "text of NUL": ({ bytes }) => `"${repeated(bytes, "\\u0000")}"`,
  "text of lone surrogates": ({ bytes }) => `"${repeated(bytes, "\\ud800")}"`,
  "text of escaped pairs": ({ bytes }) => `"${repeated(bytes, "\\ud83d\\ude00")}"`,
  "text of pairs": ({ bytes }) => `"${repeated(bytes / 2, "😀")}"`,
  "text of tabs": ({ bytes }) => `"${repeated(bytes, "\\t")}"`,
  "text of white space": ({ bytes }) => `"${repeated(bytes / 3, "\u3000")}"`,
  "text of blanks": ({ bytes }) => `"${repeated(bytes, " ")}x"`,
  "text of backslashes": ({ bytes }) => `"${repeated(bytes, "\\\\")}"`,
  "text of letters": ({ bytes }) => `"${repeated(bytes, "x")}"`,
  "text without an end": ({ bytes }) => `"${repeated(bytes, "x")}`,
  "white space": ({ bytes }) => `${repeated(bytes, " ")}0`
}

/** So many bytes, and no other limit. */
export const roomOf = (bytes: number): Room => ({
  bytes,
  values: Number.POSITIVE_INFINITY,
  keys: Number.POSITIVE_INFINITY,
  levels: Number.POSITIVE_INFINITY
})

/** As many of a text as a field may have, and such that what is done with them costs the most. */
export const worstTexts = (length: number): Readonly<Record<string, string>> => ({
  letters: "x".repeat(length),
  pairs: "😀".repeat(length),
  "white space and a letter": `${"\u3000".repeat(length - 1)}x`,
  "a letter and white space": `x${" ".repeat(length - 1)}`,
  "words of a letter": "a ".repeat(length / 2),
  "lines of a letter": "a\n".repeat(length / 2),
  "combining marks": "e\u0301".repeat(length / 2),
  "letters that grow": "ŉİ".repeat(length / 2),
  digits: "1".repeat(length),
  "calls of a line": "call x\n".repeat(length / 7),
  "calls that only read": "call recall\n".repeat(length / 12),
  "calls with a long word": `${'call recall {"query":"'}${"x ".repeat((length - 30) / 2)}"}`,
  "call with much white space": `call a b${" ".repeat(length - 9)}c`,
  "call with white space in between": `call a ${"b ".repeat(length / 2 - 4)}`,
  "call after much white space": `${" ".repeat(length - 6)}call a`,
  "call of a long name": `call ${"a-".repeat((length - 6) / 2)} `,
  "call with deep arguments": `call remember ${"[".repeat((length - 14) / 2)}${"]".repeat((length - 14) / 2)}`,
  "call with deep objects": `call remember ${nested('{"a":', "}", Math.floor((length - 20) / 6))}`,
  "call with many keys": `call remember ${keyed(roomOf(length - 30), (n) => `"${base36(n)}":0`)}`,
  "call with many objects": `call remember {"key":[${filled(roomOf(length - 30), () => "{}")}]}`
})
