import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { findingsOfDatabase } from "../../src/Schemas/Doctor.ts"
import { DatabaseReport } from "../../src/Services/DatabaseReport.ts"
import type { It } from "../support/Backends.ts"

export const suite = (it: It) =>
  describe("DatabaseReport", () => {
    it.effect("finds nothing wrong with a migrated database, again and again", () =>
      Effect.gen(function* () {
        const report = yield* DatabaseReport
        for (let time = 0; time < 2; time++) {
          const facts = yield* report.facts
          assert.deepStrictEqual(
            findingsOfDatabase(facts, 10).filter(({ status }) => status !== "ok"),
            []
          )
          assert.strictEqual(facts.schema, facts.latestSchema)
        }
      })
    )
  })
