/** What takes no room, turns the direction of text, or looks like nothing: it could make a call look like another one. */
const unseen =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800]/gu

const isPlain = (character: string): boolean => character === "\n" || character === "\t"

/** A text with everything that can't be seen in it named, such as `⟨U+202E⟩`. */
export const visible = (text: string): string =>
  text.replace(unseen, (character) =>
    isPlain(character)
      ? character
      : `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`
  )
