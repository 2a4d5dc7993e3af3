import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { InvalidInput, Unavailable } from "../Schemas/Errors.ts"
import { answerTooLarge, type Batch, batchRows, type Extent, type Range } from "../Schemas/Page.ts"
import { type Pages, seen } from "./Pages.ts"
import { orUnknown } from "./References.ts"

/** What a list answers: all, or a page of it. */
export interface Listing<A> {
  /** All that there is to tell, where nothing comes behind. */
  readonly first: ReadonlyArray<A>
  /** The rows behind `first`, a few at a time, each few read when they are asked for; null: there are none. */
  readonly rest: Stream.Stream<ReadonlyArray<A>, Unavailable> | null
  /** The id to go on behind, of a page that is not the last one. */
  readonly next: string | null
}

/**
 * Reads a list of any length. What is small is one statement. Of what is not, `extent` says first whether it is too
 * large for an answer (`InvalidInput`), and where it ends; then it is read bit by bit, in statements of their own that
 * hold nothing in between. So a list is no snapshot: a row that is there all the while comes exactly once, as it is when
 * it is read, and one that comes or goes meanwhile comes once or not at all.
 */
export const make = Effect.fnUntraced(function* <A extends { readonly id: string }, P, E>(list: {
  /** How many rows are asked for, if it is said. */
  readonly limit: number | undefined
  readonly first: (limit: number) => Effect.Effect<Batch<A, P>, E>
  readonly extent: Effect.Effect<Extent<P>, E>
  readonly slice: (range: Range<P>) => Effect.Effect<Batch<A, P>, Unavailable>
}): Effect.fn.Return<Listing<A>, E | InvalidInput> {
  const { limit } = list
  const { next, rows } = yield* list.first(Math.min(limit ?? batchRows, batchRows))
  const last = rows.at(-1)?.id ?? null
  if (next === null) return { first: rows, rest: null, next: null }
  if (rows.length === limit) return { first: rows, rest: null, next: last }
  const { after, isOver, next: end, until } = yield* list.extent
  if (isOver) return yield* answerTooLarge(limit)
  const rest = Stream.paginate(after ?? next, (place) =>
    Effect.map(
      // A store may answer so soon that nobody else would have had a turn.
      Effect.andThen(Effect.yieldNow, list.slice({ after: place, until, limit: batchRows })),
      (batch) => [[batch.rows], Option.fromNullishOr(batch.next)] as const
    )
  )
  return { first: after === null ? rows : [], rest, next: limit === undefined ? null : end }
})

/** A page of a list, as a caller asks for one: all without `limit`, from the beginning without `after`. */
export interface PageQuery {
  readonly limit?: number | undefined
  readonly after?: string | undefined
}

/** The list of a repository, narrowed by `filter`. */
export const ofPages = <A extends { readonly id: string }, F>(
  pages: Pages<A, F>,
  filter: F,
  { after, limit }: PageQuery
): Effect.Effect<Listing<A>, InvalidInput | Unavailable> => {
  const from = after === undefined ? null : { id: after, createdAt: null }
  return orUnknown(
    make({
      limit,
      first: (most) => pages.page(filter, { after: from, until: null, limit: most }),
      extent: pages.extent(filter, { after: from, limit }),
      slice: (range) => seen(pages.page(filter, range))
    })
  )
}
