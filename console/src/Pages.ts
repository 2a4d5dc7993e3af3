import { useEffect, useState } from "preact/hooks"
import { joined, type Row } from "./Joined.ts"
import { useAction, useLoad } from "./Load.ts"

/** So many rows are kept of a list that is read on; whoever wants others narrows it. */
export const mostRows = 1_000

export interface Page<A> {
  readonly rows: ReadonlyArray<A>
  /** What the next page begins after; null behind the last. */
  readonly next: string | null
}

interface Behind<A> extends Page<A> {
  readonly key: string
}

/**
 * A list that is read on page by page: what a key names. Its first page is loaded like anything else and every so often
 * again; what was read behind it stays until the key changes or it is reloaded.
 */
export const usePages = <A extends Row>(
  key: string,
  read: (after: string | undefined, signal?: AbortSignal) => Promise<Page<A>>,
  options: { readonly every?: number } = {}
) => {
  const first = useLoad(key, (signal) => read(undefined, signal), options)
  const [kept, setKept] = useState<Behind<A>>()
  const behind = kept?.key === key ? kept : undefined
  const rows = first.data === undefined ? [] : joined(first.data.rows, behind?.rows ?? [])
  const { next } = behind ?? first.data ?? { next: null }
  const more = useAction(async () => {
    if (next === null) return
    const page = await read(next)
    // What is on the first page now may be pushed off it by what is new.
    setKept({ key, rows: joined(rows, page.rows), next: page.next })
  })
  const { isBusy, problem, run } = more
  return {
    rows,
    isLoading: first.isLoading,
    problem: first.problem ?? problem,
    hasMore: next !== null,
    isFull: rows.length >= mostRows,
    isReading: isBusy,
    more: run,
    /** Looks at the first page again: what was read behind it stays as it was. */
    refresh: first.reload,
    reload: () => {
      setKept(undefined)
      first.reload()
    }
  }
}

const pauseMillis = 300

/** What a person types, once they pause: a request for each letter would be too many. */
export const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMillis)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
