import * as Net from "node:net"
import * as Effect from "effect/Effect"

interface Pair {
  readonly incoming: Net.Socket
  /** What the client said first, which has the name of its application. */
  greeting: string
  outgoing: Net.Socket | undefined
  isHeld: boolean
}

/**
 * A way to a server that can be frozen: connections stay open and new ones are accepted, but nothing
 * goes through, as with a server that is stopped or cut off.
 */
export const freezingProxy = Effect.fnUntraced(function* (port: number) {
  const pairs = new Set<Pair>()
  let frozen = false

  const flow = (pair: Pair) => {
    const { incoming } = pair
    pair.isHeld = false
    if (pair.outgoing === undefined) {
      pair.outgoing = Net.connect(port, "127.0.0.1")
      pair.outgoing.on("error", () => {}).on("close", () => incoming.destroy())
    }
    incoming.pipe(pair.outgoing).pipe(incoming)
  }
  const hold = (pair: Pair) => {
    pair.isHeld = true
    pair.incoming.unpipe().pause()
    pair.outgoing?.unpipe().pause()
  }

  const server = Net.createServer((incoming) => {
    const pair: Pair = { incoming, greeting: "", outgoing: undefined, isHeld: false }
    pairs.add(pair)
    incoming
      .once("data", (chunk) => {
        pair.greeting = chunk.toString("latin1")
      })
      .on("error", () => {})
      .on("close", () => {
        pair.outgoing?.destroy()
        pairs.delete(pair)
      })
    if (frozen) hold(pair)
    else flow(pair)
  })

  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))),
    () =>
      Effect.promise(() => {
        for (const { incoming } of pairs) incoming.destroy()
        return new Promise<void>((resolve) => server.close(() => resolve()))
      })
  )
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    freeze: Effect.sync(() => {
      frozen = true
      for (const pair of pairs) hold(pair)
    }),
    /** Those alone whose greeting has this text, as where a way is lost and nobody says so; new ones go through. */
    freezeThoseOf: (text: string) =>
      Effect.sync(() => {
        const those = [...pairs].filter(({ greeting }) => greeting.includes(text))
        for (const pair of those) hold(pair)
        return those.length
      }),
    thaw: Effect.sync(() => {
      frozen = false
      for (const pair of pairs) if (pair.isHeld) flow(pair)
    })
  }
})
