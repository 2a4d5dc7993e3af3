import * as Result from "effect/Result"
import * as Fields from "./Fields.ts"

/** The kinds of parts that are text, in either endpoint, and where they have it. */
const texts: Readonly<Record<string, string>> = {
  text: "text",
  input_text: "text",
  output_text: "text",
  refusal: "refusal"
}

const mostParts = 1_000

/** The text of a message: a string, or parts of text, which are lines of it. Images, sounds and files are refused. */
export const textOf = (field: Fields.Field): Fields.Read<string> =>
  typeof field.value === "string"
    ? Fields.requiredAnyText(field)
    : Array.isArray(field.value)
      ? Result.map(Fields.list(0, mostParts, partOf)(field), (parts) => parts.join("\n"))
      : field.value === undefined || field.value === null
        ? Fields.refuse(field.name, "is required")
        : Fields.refuse(field.name, "must be a string or a list of parts")

const partOf = (field: Fields.Field): Fields.Read<string> =>
  Result.flatMap(Fields.item(field), (part) => {
    const type = Fields.fieldOf(part, "type", field.name)
    const key = typeof type.value === "string" ? texts[type.value] : undefined
    return key === undefined
      ? Fields.refuseUnsupported(type.name, "a message is text")
      : Fields.requiredAnyText(Fields.fieldOf(part, key, field.name))
  })
