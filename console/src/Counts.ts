import { signal } from "@preact/signals"

/** What waits in a view, by its path: shown beside its link. */
export const counts = signal<Readonly<Record<string, number>>>({})

export const setCount = (path: string, count: number): void => {
  if ((counts.value[path] ?? 0) !== count) counts.value = { ...counts.value, [path]: count }
}
