import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import type { Agent } from "../../../Schemas/Agent.ts"
import type { Message, StoredConversation } from "../../../Schemas/Conversation.ts"
import type { JournalStep } from "../../../Schemas/Journal.ts"
import type { MemoryEntry } from "../../../Schemas/MemoryEntry.ts"
import type { Project } from "../../../Schemas/Project.ts"
import type { ProviderKey } from "../../../Schemas/ProviderKey.ts"
import type { StoredRun } from "../../../Schemas/Run.ts"
import type { Token } from "../../../Schemas/Token.ts"
import type { User } from "../../../Schemas/User.ts"
import type { Role, Workspace } from "../../../Schemas/Workspace.ts"
import { DatabaseHealth } from "../../../Services/DatabaseHealth.ts"
import { Transaction } from "../../../Services/Transaction.ts"

/** Until when a worker holds a run or a turn, in milliseconds of the Clock. */
export interface Lease {
  readonly worker: string
  readonly until: number
}

const emptyTables = () => ({
  users: new Map<string, User>(),
  tokens: new Map<string, Token>(),
  workspaces: new Map<string, Workspace>(),
  members: new Map<string, Role>(),
  projects: new Map<string, Project>(),
  providerKeys: new Map<string, ProviderKey>(),
  agents: new Map<string, Omit<Agent, "providerKey">>(),
  conversations: new Map<string, Omit<StoredConversation, "agent">>(),
  messages: new Map<string, ReadonlyArray<Message>>(),
  turns: new Map<string, Lease & { readonly turnId: string }>(),
  runs: new Map<string, StoredRun>(),
  leases: new Map<string, Lease>(),
  steps: new Map<string, ReadonlyArray<JournalStep>>(),
  memoryEntries: new Map<string, MemoryEntry>()
})

/** The tables that the in-memory repositories share. Values are never changed in place. */
export class Store extends Context.Service<Store, ReturnType<typeof emptyTables>>()(
  "agentd/Layers/Repo/Memory/Store"
) {
  static readonly layer = Layer.sync(Store, emptyTables)
}

const InTransaction = Context.Reference<boolean>("agentd/Layers/Repo/Memory/InTransaction", {
  defaultValue: () => false
})

/** One transaction at a time; one that does not succeed puts every table back. */
export const layerTransaction = Layer.effect(
  Transaction,
  Effect.gen(function* () {
    const store = yield* Store
    const semaphore = yield* Semaphore.make(1)
    const tables = Object.values(store) as ReadonlyArray<Map<string, unknown>>

    const isolated = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        const before = tables.map((table) => Array.from(table))
        return Effect.onExit(effect, (exit) =>
          Effect.sync(() => {
            if (exit._tag === "Success") return
            tables.forEach((table, index) => {
              table.clear()
              for (const [key, value] of before[index] ?? []) table.set(key, value)
            })
          })
        )
      })

    return Transaction.of({
      run: (effect) =>
        Effect.flatMap(InTransaction, (nested) =>
          nested ? effect : semaphore.withPermit(isolated(Effect.provideService(effect, InTransaction, true)))
        )
    })
  })
)

/** Memory is always there. */
export const layerHealth = Layer.succeed(DatabaseHealth, { check: Effect.void })
