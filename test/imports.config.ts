import { defineConfig } from "vitest/config"

/** The rules of imports, sizes and clocks alone, without the databases of the other tests: `npm run check:imports`. */
export default defineConfig({
  test: {
    root: ".",
    include: [
      "test/ConsoleImports.test.ts",
      "test/Imports.test.ts",
      "test/Structure.test.ts",
      "test/WallTime.test.ts"
    ]
  }
})
