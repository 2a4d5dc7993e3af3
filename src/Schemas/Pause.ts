/**
 * How long to wait after so many failures in a row (1 or more): twice as long each time, from `first` to `most`
 * milliseconds. Up to half of it is taken off by `random` (0 to 1), so that those who failed together do not come
 * back together.
 */
export const pauseMillis = (
  failures: number,
  random: number,
  { first, most }: { readonly first: number; readonly most: number }
): number => Math.min(first * 2 ** (failures - 1), most) * (1 - random / 2)
