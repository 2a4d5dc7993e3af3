import { defineConfig } from "vitest/config"

/** The import rules alone, without the databases of the other tests: `npm run check:imports`. */
export default defineConfig({ test: { root: ".", include: ["test/Imports.test.ts"] } })
