import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StoredAuditEntry } from "../../../Schemas/Audit.ts"
import { AuditRepo } from "../../../Services/AuditRepo.ts"
import { keepEntry } from "./AuditEntries.ts"
import { inOrder } from "./Order.ts"
import { Store } from "./Store.ts"

const toEntry = ({ workspaceId: _, ...entry }: StoredAuditEntry) => entry

export const layer = Layer.effect(
  AuditRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { auditEntries } = tables
    return guard(
      AuditRepo.of({
        add: (entries) => Effect.sync(() => entries.forEach((entry) => void keepEntry(tables, entry))),
        list: ({ after, limit, workspaceId }) =>
          Effect.sync(() =>
            Array.from(auditEntries.values())
              .filter((entry) => entry.workspaceId === workspaceId && (after === null || entry.id < after))
              .sort((a, b) => (a.id < b.id ? 1 : -1))
              .slice(0, limit)
              .map(toEntry)
          ),
        prune: (before, limit) =>
          Effect.sync(() => {
            const old = Array.from(auditEntries)
              .map(([key, entry]) => ({ ...entry, key }))
              .filter(({ at }) => at < before)
              .sort(inOrder("at"))
              .slice(0, limit)
            for (const { key } of old) auditEntries.delete(key)
            return old.length
          })
      })
    )
  })
)
