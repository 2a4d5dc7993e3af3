/** Oldest first by a time stamp, then by id: the order of every list. Reverse it for newest first. */
export const inOrder =
  <K extends string>(field: K) =>
  (a: { readonly id: string } & Record<K, Date>, b: { readonly id: string } & Record<K, Date>): number =>
    a[field].getTime() - b[field].getTime() || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

/** What comes behind `after` by id, up to `limit`. */
export const pageOf = <T extends { readonly id: string }>(
  all: ReadonlyArray<T>,
  { after, limit }: { readonly after: string | null; readonly limit: number }
): ReadonlyArray<T> =>
  all
    .filter(({ id }) => id > (after ?? ""))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, limit)
