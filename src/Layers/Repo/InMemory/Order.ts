/** Oldest first by a time stamp, then by id: the order of every list. Reverse it for newest first. */
export const inOrder =
  <K extends string>(field: K) =>
  (a: { readonly id: string } & Record<K, Date>, b: { readonly id: string } & Record<K, Date>): number =>
    a[field].getTime() - b[field].getTime() || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
