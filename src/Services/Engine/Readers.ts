import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { errorEvent } from "../../Schemas/ChatEvent.ts"
import { RateLimited } from "../../Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../../Schemas/Ids.ts"
import { isEnd, type NumberedEvent } from "../../Schemas/RunEvent.ts"
import { type Caller, isUsable, type Reading } from "../../Schemas/Token.ts"
import { now } from "../CurrentTime.ts"
import * as DatabaseWait from "../DatabaseWait.ts"
import { relayed } from "../Relay.ts"
import { TokenRepo } from "../TokenRepo.ts"

/** How many event streams of one user may be open on a node (CONTRACT.md section 10). */
const mostOpen = 64
/** With what a statement may take, within the 5 s of CONTRACT.md section 7. */
const lookMillis = 2_000
const lookedAtAtOnce = 1_000

interface Place extends Reading {
  readonly userId: UserId
  readonly expiresAt: Date | null
  /** The reader may not go on. */
  isCut: boolean
  /** Tells whoever reads that. */
  cut: () => void
}

/** Who reads event streams on this node: how many a user may, and for how long. */
export class Readers extends Context.Service<
  Readers,
  {
    /**
     * The `events` of a workspace for a caller that is let in, behind the event `after`. `RateLimited`, and nothing is
     * done, when 64 of this user are open here; the place is given back with the stream, where `events` fails, and with
     * the scope, whether or not the stream was read.
     *
     * A reader whose token is revoked or expired, whose user is disabled or gone, or who is no member any more is cut
     * off: it gets no further event but an `error` `forbidden`, with the id of the event before it. That is found out
     * every 2 s, of all readers at once; while the database is away they stay, but for those whose token expires.
     */
    readonly open: <E, R>(
      caller: Caller,
      workspaceId: WorkspaceId,
      after: number,
      events: Effect.Effect<Stream.Stream<NumberedEvent>, E, R>
    ) => Effect.Effect<Stream.Stream<NumberedEvent>, E | RateLimited, R | Scope.Scope>
  }
>()("agentd/Services/Engine/Readers") {
  static readonly layer = Layer.effect(
    Readers,
    Effect.gen(function* () {
      const places = new Set<Place>()
      const counts = new Map<UserId, number>()
      const isAnybodyHere = yield* Latch.make(false)

      yield* (yield* makeLook(places)).pipe(
        Effect.delay(lookMillis),
        isAnybodyHere.whenOpen,
        Effect.forever,
        DatabaseWait.apart,
        Effect.forkScoped
      )

      const enter = Effect.fnUntraced(function* ({ id, token }: Caller, workspaceId: WorkspaceId) {
        const count = counts.get(id) ?? 0
        if (count >= mostOpen) return yield* tooMany
        counts.set(id, count + 1)
        const { expiresAt, id: tokenId } = token
        const place: Place = {
          userId: id,
          tokenId,
          workspaceId,
          expiresAt,
          isCut: false,
          cut: () => undefined
        }
        places.add(place)
        isAnybodyHere.openUnsafe()
        return place
      })
      const leave = (place: Place) =>
        Effect.sync(() => {
          if (!places.delete(place)) return
          const left = (counts.get(place.userId) ?? 1) - 1
          if (left === 0) counts.delete(place.userId)
          else counts.set(place.userId, left)
          if (places.size === 0) isAnybodyHere.closeUnsafe()
        })

      return Readers.of({
        open: Effect.fnUntraced(function* (caller, workspaceId, after, events) {
          const place = yield* Effect.acquireRelease(enter(caller, workspaceId), leave)
          const stream = yield* Effect.onError(events, () => leave(place))
          return untilCut(place, stream, after, leave(place))
        })
      })
    })
  )
}

/** Looks once at all who are here, and cuts those off that may not read on. */
const makeLook = Effect.fnUntraced(function* (places: ReadonlySet<Place>) {
  const tokens = yield* TokenRepo

  const cut = (place: Place) => {
    if (place.isCut) return
    place.isCut = true
    place.cut()
  }

  return Effect.gen(function* () {
    const at = yield* now
    /** Of many streams of one reader it is asked once. */
    const asked = new Map<string, [Place, ...Array<Place>]>()
    for (const place of places) {
      const known = asked.get(keyOf(place))
      if (!isUsable({ ...place, revokedAt: null }, at)) cut(place)
      else if (known === undefined) asked.set(keyOf(place), [place])
      else known.push(place)
    }
    const all = Array.from(asked.values())
    for (let from = 0; from < all.length; from += lookedAtAtOnce) {
      const some = all.slice(from, from + lookedAtAtOnce)
      const readings = some.map(([{ tokenId, workspaceId }]) => ({ tokenId, workspaceId }))
      const mayRead = new Set((yield* tokens.mayRead(readings, at)).map(keyOf))
      for (const readers of some) if (!mayRead.has(keyOf(readers[0]))) readers.forEach(cut)
    }
  }).pipe(
    Effect.catchTag("Unavailable", () => Effect.void),
    Effect.ignoreCause({ log: "Warn", message: "who reads was not looked at" })
  )
})

const keyOf = ({ tokenId, workspaceId }: Reading) => `${tokenId} ${workspaceId}`

const untilCut = (
  place: Place,
  events: Stream.Stream<NumberedEvent>,
  after: number,
  leave: Effect.Effect<void>
): Stream.Stream<NumberedEvent> => {
  let last = after
  let isOver = false
  return relayed(
    events,
    ({ close }) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          place.cut = () => {
            if (!isOver) close({ id: last, event: ended })
          }
          if (place.isCut) place.cut()
        }),
        () => leave
      ),
    (told) => {
      const newest = told.at(-1)
      if (newest === undefined) return
      last = newest.id
      isOver = isEnd(newest.event)
    }
  )
}

const ended = errorEvent(
  "forbidden",
  "you may not read on: the token has ended, or you are no member of this workspace any more"
)

const tooMany = Effect.suspend(
  () =>
    new RateLimited({
      error: `event streams: ${mostOpen} of this user are open on this node; close one and try again`,
      retryAfter: 5
    })
)
