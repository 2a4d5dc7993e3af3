import { InvalidInput } from "./Errors.ts"

/** How large the body of an answer that is a list may be, in bytes (CONTRACT.md section 3). */
export const mostAnswerBytes = 32 * 1024 * 1024

/** How many rows a caller may ask for at once. */
export const mostPageRows = 1_000

/**
 * What is read of a list, made JSON and sent at once, so that others have their turn in between: so many rows, of
 * which the last may go over so many bytes. What is no more than this is one statement and one piece.
 */
export const batchRows = 200
export const batchBytes = 128 * 1024

/** A place in a list, behind a row. `createdAt` is where the row was, should it be gone; null: it has to be there. */
export interface Place {
  readonly id: string
  readonly createdAt: Date | null
}

export const placeOf = ({ createdAt, id }: { readonly id: string; readonly createdAt: Date }): Place => ({
  id,
  createdAt
})

/** The first `limit` rows behind `after`, up to `until` and with it; null: from the beginning, to the end. */
export interface Range<P> {
  readonly after: P | null
  readonly until: P | null
  readonly limit: number
}

/** Some rows in the order of their list, and where to go on; null: there are no more in the range. */
export interface Batch<A, P> {
  readonly rows: ReadonlyArray<A>
  readonly next: P | null
}

/** How much there is in a part of a list that is asked for. */
export interface Extent<P> {
  /** As JSON it is more than `mostAnswerBytes`. */
  readonly isOver: boolean
  /** Where it begins, if not at the beginning of what was asked for. */
  readonly after: P | null
  /** Its last row; null where there is none. */
  readonly until: P | null
  /** The id of its last row, where there are more rows than were asked for. */
  readonly next: string | null
}

/** 400: a list, or a page of it, that is too large for one answer. */
export const answerTooLarge = (limit: number | undefined) =>
  new InvalidInput({
    error:
      limit === undefined
        ? "limit: is needed, the answer would be over 32 MiB"
        : "limit: use a smaller one, the answer would be over 32 MiB"
  })
