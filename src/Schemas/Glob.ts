/**
 * Whether a text is what a pattern says, in which `*` is any text, also none, and every other character is itself.
 * Takes time by the lengths of both together, whatever is in them.
 */
export const makeGlob = (pattern: string): ((text: string) => boolean) => {
  const [head = "", ...parts] = pattern.split("*")
  const tail = parts.pop()
  if (tail === undefined) return (text) => text === head
  const searches = parts.filter((part) => part !== "").map(searchOf)
  return (text) => {
    const end = text.length - tail.length
    if (end < head.length || !text.startsWith(head) || !text.endsWith(tail)) return false
    let at: number | undefined = head.length
    for (const search of searches) {
      at = search(text, at, end)
      if (at === undefined) return false
    }
    return true
  }
}

/**
 * Whether all texts of `narrow` are also of `wide`; false where it can't be told by one look. As a text, `narrow` has a
 * `*` wherever it has any text, and nothing in `wide` but a `*` goes over that.
 */
export const isWithin = (narrow: string, wide: string): boolean => makeGlob(wide)(narrow)

/** Where the first occurrence of a part ends between two places (Knuth, Morris, Pratt). */
const searchOf = (part: string) => {
  const borders: Array<number> = [0]
  const next = (matched: number, unit: string | undefined): number => {
    let length = matched
    while (length > 0 && part[length] !== unit) length = borders[length - 1] ?? 0
    return part[length] === unit ? length + 1 : 0
  }
  for (let index = 1; index < part.length; index++) {
    borders[index] = next(borders[index - 1] ?? 0, part[index])
  }
  return (text: string, from: number, end: number): number | undefined => {
    let matched = 0
    for (let index = from; index < end; index++) {
      matched = next(matched, text[index])
      if (matched === part.length) return index + 1
    }
    return undefined
  }
}
