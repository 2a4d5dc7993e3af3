import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/Databases.ts"],
    // They only end what hangs: a test that is right passes on a machine that is thirty times slower as well.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    maxWorkers: 2
  }
})
