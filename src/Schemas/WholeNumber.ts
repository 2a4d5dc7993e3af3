/** What a number is that is sent or set as a text: `1e1`, `5.0`, `010`, `+5` and ` 5` are not what was meant. */
export const wholeNumberPattern = "^(0|[1-9][0-9]*)$"

const pattern = new RegExp(wholeNumberPattern, "u")

/** The number that a text says in plain digits, if it is within the bounds. */
export const wholeNumberOf = (text: string, minimum: number, maximum: number): number | undefined => {
  const value = pattern.test(text) ? Number(text) : Number.NaN
  return value >= minimum && value <= maximum ? value : undefined
}
