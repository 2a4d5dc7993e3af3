import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import type { Policy } from "../../../Schemas/Policy.ts"

/** Replaces the policy of a row where it is still what it was. */
export const setPolicyIn =
  <Row extends { readonly policy: Policy | null; readonly updatedAt: Date }>(table: Map<string, Row>) =>
  (
    id: string,
    { after, before }: { readonly before?: Policy | null; readonly after: Policy | null },
    at: Date
  ) =>
    Effect.sync(() => {
      const row = table.get(id)
      if (row === undefined || (before !== undefined && !Equal.equals(row.policy, before))) return false
      table.set(id, { ...row, policy: after, updatedAt: at })
      return true
    })
