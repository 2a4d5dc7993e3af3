import { describe, expect, it } from "@effect/vitest"
import { metadataOf, nothing } from "../../console/src/views/Connectors/Metadata.ts"

describe("the metadata of a connector that was entered", () => {
  it("has nothing of what was left empty", () => expect(metadataOf(nothing)).toEqual({}))

  it("is the address, the credential as it is, headers by name, and what else there is", () => {
    const entered = {
      url: " https://mcp.example.org/mcp ",
      credential: " secret",
      headers: "X-Api-Key: a:b\n\nX-Team:  blue ",
      more: '{"region":"eu"}'
    }
    expect(metadataOf(entered)).toEqual({
      url: "https://mcp.example.org/mcp",
      credential: " secret",
      headers: { "X-Api-Key": "a:b", "X-Team": "blue" },
      region: "eu"
    })
  })

  it("is a sentence where it can't be understood", () => {
    expect(metadataOf({ ...nothing, headers: "no value" })).toContain("metadata.headers")
    expect(metadataOf({ ...nothing, more: "[1]" })).toBe("metadata: must be a JSON object")
    expect(metadataOf({ ...nothing, more: "{" })).toBe("metadata: is not valid JSON")
  })
})
