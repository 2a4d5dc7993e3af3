import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { CurrentUser } from "../../Api/Authorization.ts"
import { nextAfterHeader } from "../../Api/Paging.ts"
import { mostAnswerBytes } from "../../Schemas/Page.ts"
import type { Caller } from "../../Schemas/Token.ts"
import type { Listing } from "../../Services/Listing.ts"

/** What rows that were written since their size was told may add. */
const spareBytes = 1024 * 1024

/**
 * Answers a list as the contract has it, `{"data":[…]}` or another `frame` around its rows. One that is small is sent at
 * once. Of any other each piece is read, made JSON and sent when the reader takes it, and others have their turn in
 * between; what goes wrong behind its head cuts the connection, so that nobody takes it for whole.
 */
export const makeListing = <A, I>(row: Schema.ConstraintCodec<A, I, never, never>) => {
  // What they may hold was seen to when they were read.
  const encode = Schema.encodeSync(Schema.toCodecJson(Schema.Array(row)), { disableChecks: true })
  /** Without the brackets. */
  const textOf = (rows: ReadonlyArray<A>) => JSON.stringify(encode(rows)).slice(1, -1)

  return ({ first, next, rest }: Listing<A>, [before, behind]: Frame = dataFrame) => {
    const options = {
      contentType: "application/json",
      ...(next !== null && { headers: { [nextAfterHeader]: next } })
    }
    if (rest === null)
      return HttpServerResponse.uint8Array(utf8.encode(`${before}${textOf(first)}${behind}`), options)
    let isFirst = true
    let bytes = 0
    const pieceOf = (rows: ReadonlyArray<A>) => {
      if (rows.length === 0) return Effect.succeed(new Uint8Array())
      const piece = utf8.encode(`${isFirst ? before : ","}${textOf(rows)}`)
      isFirst = false
      bytes += piece.length
      return bytes > mostAnswerBytes + spareBytes
        ? Effect.die(new Error("a list has become too large while it was sent"))
        : Effect.succeed(piece)
    }
    const pieces = Stream.concat(
      // To read some rows and to make them JSON are two turns.
      Stream.mapEffect(Stream.concat(Stream.succeed(first), rest), (rows) =>
        Effect.andThen(
          Effect.yieldNow,
          Effect.suspend(() => pieceOf(rows))
        )
      ),
      Stream.sync(() => utf8.encode(isFirst ? `${before}${behind}` : behind))
    )
    return HttpServerResponse.stream(
      Stream.tapCause(pieces, (cause) => Effect.logWarning("a list was cut off", cause)),
      options
    )
  }
}

/** What is before the rows of a list, and what is behind. */
export type Frame = readonly [before: string, behind: string]

const dataFrame: Frame = ['{"data":[', "]}"]

const utf8 = new TextEncoder()

/** Answers what a list is for the user who calls. */
export const listing = <A, I>(row: Schema.ConstraintCodec<A, I, never, never>) => {
  const answer = makeListing(row)
  return <E, R>(perform: (caller: Caller) => Effect.Effect<Listing<A>, E, R>) =>
    Effect.map(Effect.flatMap(CurrentUser, perform), (found) => answer(found))
}
