import { describe, expect, it } from "@effect/vitest"
import { visible } from "../../console/src/ui/Visible.ts"

describe("what can't be seen in a text", () => {
  it("is named", () => {
    expect(visible("delete \u202Etxt.exe")).toBe("delete ⟨U+202E⟩txt.exe")
    expect(visible("a\u200Bb\u00A0c\u0000\u{E0041}")).toBe("a⟨U+200B⟩b⟨U+00A0⟩c⟨U+0000⟩⟨U+E0041⟩")
    expect(visible("a\uFE0Fb\u034Fc\u2800\u{E0100}")).toBe("a⟨U+FE0F⟩b⟨U+034F⟩c⟨U+2800⟩⟨U+E0100⟩")
  })

  it("is not what breaks or indents lines, nor letters of any script", () => {
    const text = '{\n\t"name": "Grüße 世界 🎈"\n}'
    expect(visible(text)).toBe(text)
  })
})
