import { useCallback, useRef } from "preact/hooks"
import { type Loaded, useLoad } from "./Load.ts"

const pageSize = 200
const mostRows = 5_000

interface Page<A> {
  readonly data: ReadonlyArray<A>
  /** Of a page that is not the last one: where the next begins. */
  readonly nextAfter: string | null
}

interface Rows<A> {
  readonly rows: ReadonlyArray<A>
  readonly hasMore: boolean
}

export interface Pages<A> extends Loaded<Rows<A>> {
  readonly more: () => void
}

/**
 * A list that is read a page at a time: as much of it as was asked for, again and again as `useLoad` does. `read` has one page,
 * behind an id where there is one.
 */
export const usePages = <A>(
  key: string,
  read: (
    page: { readonly limit: number; readonly after: string | undefined },
    signal: AbortSignal
  ) => Promise<Page<A>>,
  options: { readonly every?: number } = {}
): Pages<A> => {
  const wanted = useRef({ key, rows: pageSize })
  if (wanted.current.key !== key) wanted.current = { key, rows: pageSize }
  const loaded = useLoad<Rows<A>>(
    key,
    async (signal) => {
      const rows: Array<A> = []
      let after: string | undefined
      do {
        const page = await read({ limit: pageSize, after }, signal)
        rows.push(...page.data)
        after = page.nextAfter ?? undefined
      } while (after !== undefined && rows.length < wanted.current.rows)
      return { rows, hasMore: after !== undefined && rows.length < mostRows }
    },
    options
  )
  const { reload } = loaded
  const more = useCallback(() => {
    wanted.current = { ...wanted.current, rows: Math.min(mostRows, wanted.current.rows + pageSize) }
    reload()
  }, [reload])
  return { ...loaded, more }
}
