import * as Base64Url from "effect/encoding/Base64Url"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** Of a place in a stream, which has two ids of a client in it, each letter of them escaped. */
const longest = 4_096

/**
 * A text that only a server reads: whatever node it comes back to knows what it says. It is no secret and not sealed:
 * whoever makes one up gets what their own rights allow, and no more.
 */
export const opaque = <A>(schema: Schema.Codec<A, string>) => {
  const encode = Schema.encodeSync(schema)
  const decode = Schema.decodeUnknownOption(schema)
  return {
    write: (value: A): string => Base64Url.encode(encode(value)),
    read: (text: unknown): Option.Option<A> =>
      typeof text !== "string" || text.length > longest
        ? Option.none()
        : Option.flatMap(Result.getSuccess(Base64Url.decodeString(text)), decode)
  }
}
