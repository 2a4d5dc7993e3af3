/** What takes no room, turns the direction of text, or looks like nothing: it could make a call look like another one. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u2000-\u200a\u202f\u3164\uffa0]/gu

const isPlain = (character: string): boolean => character === "\n" || character === "\t"

/** A text with everything that can't be seen in it named, such as `⟨U+202E⟩`. */
export const visible = (text: string): string =>
  text.replace(unseen, (character) =>
    isPlain(character)
      ? character
      : `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`
  )
