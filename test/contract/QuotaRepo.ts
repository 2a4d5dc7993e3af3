import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type { PlanLimitExceeded } from "../../src/Schemas/Connector.ts"
import type { Unavailable } from "../../src/Schemas/Errors.ts"
import type {
  AgentId,
  ConnectorId,
  CronJobId,
  MemoryEntryId,
  ProjectId,
  ProviderKeyId,
  TokenId,
  UserId,
  WorkspaceId
} from "../../src/Schemas/Ids.ts"
import { UserId as makeUserId } from "../../src/Schemas/Ids.ts"
import type { ByPlan, Quota, Quotas } from "../../src/Schemas/Quotas.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { MemoryRepo } from "../../src/Services/MemoryRepo.ts"
import { ProjectRepo } from "../../src/Services/ProjectRepo.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { QuotaRepo } from "../../src/Services/QuotaRepo.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { Backend, It } from "../support/Backends.ts"
import { below, pick } from "../support/Chance.ts"
import {
  at,
  makeRun,
  makeUser,
  makeWorkspace,
  makeWorkspaceOf,
  newId,
  newWorkspace
} from "../support/Fixtures.ts"
import { listed } from "../support/Listed.ts"

type Refused = PlanLimitExceeded | Unavailable

/** What a workspace has many of: makes one, which can be removed again if there is a way to. */
export interface Kind {
  readonly make: (
    workspaceId: WorkspaceId,
    most?: ByPlan
  ) => Effect.Effect<{ readonly remove?: Effect.Effect<boolean, Unavailable, Backend> }, Refused, Backend>
}

const base = (workspaceId: WorkspaceId) => ({
  workspaceId,
  projectId: null,
  name: "name",
  description: null,
  createdAt: at(),
  updatedAt: at()
})

const never = Effect.die("it names nothing that could be gone")

export const kinds = {
  agents: {
    make: Effect.fnUntraced(function* (workspaceId, most) {
      const repo = yield* AgentRepo
      const id = yield* newId<AgentId>("agent")
      const agent = { ...base(workspaceId), id, systemPrompt: null, isActive: true, providerKeyId: null }
      yield* repo.insert(agent, most).pipe(Effect.catchTag("ReferenceGone", () => never))
      return { remove: repo.remove(id) }
    })
  },
  projects: {
    make: Effect.fnUntraced(function* (workspaceId, most) {
      yield* (yield* ProjectRepo).insert(
        { id: yield* newId<ProjectId>("project"), workspaceId, name: "p", createdAt: at() },
        most
      )
      return {}
    })
  },
  cronJobs: {
    make: Effect.fnUntraced(function* (workspaceId, most) {
      const repo = yield* CronJobRepo
      const id = yield* newId<CronJobId>("cronJob")
      const schedule = { schedule: "@daily", timezone: "UTC", prompt: "p", isActive: false, nextFireAt: null }
      const unmade = { createdBy: null, stoppedAt: null, stopReason: null, policy: null }
      yield* repo
        .insert({ ...base(workspaceId), ...schedule, ...unmade, id, agentId: null }, most)
        .pipe(Effect.catchTag("ReferenceGone", () => never))
      return { remove: repo.remove(id) }
    })
  },
  providerKeys: {
    make: Effect.fnUntraced(function* (workspaceId, most) {
      const repo = yield* ProviderKeyRepo
      const id = yield* newId<ProviderKeyId>("providerKey")
      const model = {
        provider: "openai",
        model: "m",
        baseUrl: null,
        maxOutputTokens: null,
        pricing: null
      } as const
      const key = { id, workspaceId, name: "k", ...model, hasApiKey: false, sealedApiKey: null }
      yield* repo.insert({ ...key, createdAt: at() }, most)
      return { remove: repo.remove(id) }
    })
  },
  connectors: {
    make: Effect.fnUntraced(function* (workspaceId, most) {
      const repo = yield* ConnectorRepo
      const id = yield* newId<ConnectorId>("connector")
      const { description: _, name: __, ...fields } = base(workspaceId)
      const known = { type: "custom", providerId: null, providerName: null, status: "INACTIVE" } as const
      const held = { grantedScopes: [], hasCredential: false, metadata: {}, sealedCredential: null }
      yield* repo.insert({ ...fields, ...known, ...held, id }, most)
      return { remove: repo.remove(id) }
    })
  },
  memoryEntries: {
    make: Effect.fnUntraced(function* (workspaceId, most) {
      const repo = yield* MemoryRepo
      const id = yield* newId<MemoryEntryId>("memoryEntry")
      yield* remember(
        workspaceId,
        { id, key: id },
        most && { memoryEntries: most, memoryBytes: { free: null, pro: null } }
      )
      return { remove: repo.remove(id) }
    })
  }
} satisfies Partial<Record<Quota, Kind>>

export const remember = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: { readonly id?: MemoryEntryId; readonly key?: string; readonly value?: string },
  most?: Pick<Quotas, "memoryEntries" | "memoryBytes">
) {
  const { id = yield* newId<MemoryEntryId>("memoryEntry"), key = "key", value = "v" } = given
  const author = { userId: makeUserId.make("user_1") }
  const entry = { id, workspaceId, projectId: null, key, value, category: null, author, at: at() }
  return yield* (yield* MemoryRepo).upsert(entry, most)
})

const countedOf = Effect.fnUntraced(function* (workspaceId: WorkspaceId, userId = "nobody") {
  const counted = yield* (yield* QuotaRepo).count(workspaceId, userId as UserId, at())
  return Option.getOrThrow(counted)
})

const usedOf = (workspaceId: WorkspaceId, userId?: string) =>
  Effect.map(countedOf(workspaceId, userId), ({ used }) => used)

export const insertToken = Effect.fnUntraced(function* (
  userId: UserId,
  given: { readonly expiresAt?: Date; readonly revokedAt?: Date } = {},
  most?: ByPlan
) {
  const id = yield* newId<TokenId>("token")
  const token = {
    id,
    userId,
    parentId: null,
    name: "t",
    hash: id,
    createdAt: at(),
    expiresAt: null,
    revokedAt: null,
    ...given
  }
  yield* (yield* TokenRepo).insert(token, most)
  return id
})

const sentenceOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => ("error" in error ? error.error : error._tag))

const setPlan = Effect.fnUntraced(function* (id: WorkspaceId, plan: "free" | "pro") {
  yield* (yield* WorkspaceRepo).setPlan(id, plan, at())
})

const most = { free: 2, pro: 3 }
const unlimited = { free: null, pro: null }

const ofKinds = (it: It) => {
  for (const [quota, { make }] of Object.entries(kinds) as ReadonlyArray<[keyof typeof kinds, Kind]>) {
    it.effect(`${quota}: as many as the plan allows, and what is removed counts no more`, () =>
      Effect.gen(function* () {
        const [workspaceId, other] = [yield* makeWorkspace, yield* makeWorkspace]
        const of = (plan: string, value: number) => `${quota}: the ${plan} plan allows at most ${value}`
        yield* make(other)
        const first = yield* make(workspaceId, most)
        yield* make(workspaceId, most)
        assert.strictEqual(yield* sentenceOf(make(workspaceId, most)), of("free", 2))
        assert.strictEqual((yield* usedOf(workspaceId))[quota], 2, "a refused one counts")
        yield* setPlan(workspaceId, "pro")
        yield* make(workspaceId, most)
        assert.strictEqual(yield* sentenceOf(make(workspaceId, most)), of("pro", 3))
        yield* setPlan(workspaceId, "free")
        assert.strictEqual((yield* usedOf(workspaceId))[quota], 3, "what there is stays")
        if (first.remove !== undefined) {
          assert.isTrue(yield* first.remove)
          assert.isFalse(yield* first.remove)
          assert.strictEqual((yield* usedOf(workspaceId))[quota], 2)
        }
        assert.strictEqual(yield* sentenceOf(make(workspaceId, most)), of("free", 2))
        yield* make(workspaceId, { free: null, pro: 0 })
        yield* make(workspaceId)
        assert.strictEqual((yield* usedOf(other))[quota], 1)
      })
    )

    it.effect(`${quota}: what is rolled back does not count`, () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const { atomically } = yield* Transaction
        yield* Effect.ignore(atomically(Effect.andThen(make(workspaceId, most), Effect.fail("no"))))
        assert.strictEqual((yield* usedOf(workspaceId))[quota], 0)
        yield* make(workspaceId, { free: 1, pro: 1 })
      })
    )
  }
}

const ofMemory = (it: It) => {
  it.effect("memoryBytes: of the values in UTF-8, whatever writes them", () =>
    Effect.gen(function* () {
      const workspaceId = yield* makeWorkspace
      const limits = { memoryEntries: unlimited, memoryBytes: { free: 10, pro: 12 } }
      const refused = "memoryBytes: the free plan allows at most 10"
      const write = (key: string, value: string) => remember(workspaceId, { key, value }, limits)
      const { id } = yield* write("a", "ééé")
      yield* write("b", "1234")
      assert.include(yield* usedOf(workspaceId), { memoryEntries: 2, memoryBytes: 10 })
      assert.strictEqual(yield* sentenceOf(write("b", "12345")), refused)
      assert.strictEqual(yield* sentenceOf(write("c", "1")), refused)
      yield* write("c", "")
      yield* write("b", "4321")
      yield* write("b", "123")
      yield* write("c", "1")
      assert.strictEqual((yield* usedOf(workspaceId)).memoryBytes, 10)
      yield* setPlan(workspaceId, "pro")
      yield* write("c", "123")
      yield* setPlan(workspaceId, "free")
      assert.strictEqual(yield* sentenceOf(write("c", "1234")), refused)
      yield* write("c", "321")
      yield* write("c", "21")
      assert.strictEqual((yield* usedOf(workspaceId)).memoryBytes, 11)
      assert.isTrue(yield* (yield* MemoryRepo).remove(id))
      assert.include(yield* usedOf(workspaceId), { memoryEntries: 2, memoryBytes: 5 })
    })
  )

  it.effect("memoryEntries: a value of an entry that is there is none more", () =>
    Effect.gen(function* () {
      const workspaceId = yield* makeWorkspace
      const limits = { memoryEntries: { free: 1, pro: 1 }, memoryBytes: unlimited }
      yield* remember(workspaceId, { key: "a", value: "1" }, limits)
      yield* remember(workspaceId, { key: "a", value: "22" }, limits)
      const one = remember(workspaceId, { key: "b" }, limits)
      assert.strictEqual(yield* sentenceOf(one), "memoryEntries: the free plan allows at most 1")
    })
  )
}

const ofUsers = (it: It) => {
  it.effect("tokens: those that work, by the best plan of the workspaces that the user owns", () =>
    Effect.gen(function* () {
      const [user, other] = [yield* makeUser, yield* makeUser]
      const [mine, shared] = [yield* makeWorkspace, yield* makeWorkspace]
      const workspaces = yield* WorkspaceRepo
      yield* workspaces.addMember(mine, user.id, "owner", at())
      yield* workspaces.addMember(shared, user.id, "member", at())
      yield* setPlan(shared, "pro")
      const insert = (given = {}) => insertToken(user.id, given, most)
      const refused = "tokens: the free plan allows at most 2"
      yield* insertToken(other.id)
      yield* insertToken(user.id, { expiresAt: at() })
      yield* insertToken(user.id, { revokedAt: at(5) })
      const id = yield* insert({ expiresAt: at(1) })
      yield* insert()
      assert.strictEqual(yield* sentenceOf(insert()), refused)
      assert.strictEqual((yield* usedOf(mine, user.id)).tokens, 2)
      yield* (yield* TokenRepo).revoke(user.id, id, at(9))
      yield* insert()
      assert.strictEqual(yield* sentenceOf(insert()), refused)
      assert.strictEqual((yield* countedOf(mine, user.id)).userPlan, "free")
      yield* setPlan(mine, "pro")
      yield* insert()
      assert.strictEqual(yield* sentenceOf(insert()), "tokens: the pro plan allows at most 3")
      assert.deepInclude(yield* countedOf(shared, user.id), { userPlan: "pro", plan: "pro" })
      yield* insertToken(user.id)
      assert.strictEqual((yield* usedOf(shared, user.id)).tokens, 4)
    })
  )

  it.effect("workspacesOwned: those that the user made, whoever is an owner of them", () =>
    Effect.gen(function* () {
      const [user, other] = [yield* makeUser, yield* makeUser]
      const workspaces = yield* WorkspaceRepo
      const make = Effect.fnUntraced(function* (limit: ByPlan = most) {
        const { atomically } = yield* Transaction
        const workspace = yield* newWorkspace
        yield* atomically(workspaces.insert(workspace, user.id, limit))
        return workspace.id
      })
      const used = (id: WorkspaceId) =>
        Effect.map(usedOf(id, user.id), ({ workspacesOwned }) => workspacesOwned)
      const refused = "workspacesOwned: the free plan allows at most 2"
      const [a, b] = [yield* make(), yield* make()]
      assert.strictEqual(yield* sentenceOf(make()), refused)
      assert.strictEqual(yield* used(a), 2)
      const theirs = yield* makeWorkspaceOf(other.id)
      yield* workspaces.addMember(theirs, user.id, "owner", at())
      yield* workspaces.removeMember(b, user.id)
      assert.strictEqual(yield* used(a), 2, "others have no say")
      assert.strictEqual(yield* sentenceOf(make()), refused)
      yield* setPlan(theirs, "pro")
      yield* make()
      assert.strictEqual(yield* sentenceOf(make()), "workspacesOwned: the pro plan allows at most 3")
      yield* makeWorkspaceOf(user.id)
      yield* makeWorkspaceOf(null)
      assert.strictEqual(yield* used(theirs), 4)
    })
  )
}

/** What there is, by the lists. */
const countsOf = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const filter = { workspaceId }
  const entries = yield* listed(yield* MemoryRepo, filter)
  return {
    agents: (yield* listed(yield* AgentRepo, filter)).length,
    projects: (yield* (yield* ProjectRepo).list(workspaceId)).length,
    cronJobs: (yield* listed(yield* CronJobRepo, filter)).length,
    providerKeys: (yield* (yield* ProviderKeyRepo).list(workspaceId)).length,
    connectors: (yield* listed(yield* ConnectorRepo, filter)).length,
    memoryEntries: entries.length,
    memoryBytes: entries.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0)
  }
})

export const suite = (it: It) =>
  describe("QuotaRepo", () => {
    ofKinds(it)
    ofMemory(it)
    ofUsers(it)

    it.effect("knows of no workspace that is not there", () =>
      Effect.gen(function* () {
        const repo = yield* QuotaRepo
        const { id } = yield* makeUser
        assert.deepStrictEqual(yield* repo.count("ws_absent" as WorkspaceId, id, at()), Option.none())
      })
    )

    it.effect("pendingRuns: of the two queues the fuller one", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        assert.strictEqual((yield* usedOf(workspaceId)).pendingRuns, 0)
        yield* Effect.replicateEffect(makeRun(workspaceId), 3)
        assert.strictEqual((yield* usedOf(workspaceId)).pendingRuns, 3)
      })
    )

    it.effect("counts what there is, whatever was done", () =>
      Effect.gen(function* () {
        const all = [yield* makeWorkspace, yield* makeWorkspace]
        const removals: Array<Effect.Effect<boolean, Unavailable, Backend>> = []
        const limits = { memoryEntries: { free: 9, pro: null }, memoryBytes: { free: 60, pro: null } }
        for (let step = 0; step < 300; step++) {
          const workspaceId = yield* pick(all)
          const chance = yield* below(10)
          if (chance < 4) {
            const { make } = yield* pick(Object.values(kinds) as ReadonlyArray<Kind>)
            const made = yield* Effect.option(make(workspaceId, { free: 9, pro: 9 }))
            if (Option.isSome(made) && made.value.remove !== undefined) removals.push(made.value.remove)
          } else if (chance < 7) {
            const [key, length] = [`k${yield* below(12)}`, yield* below(15)]
            yield* Effect.ignore(remember(workspaceId, { key, value: "é".repeat(length) }, limits))
          } else if (removals.length > 0) {
            // Also what is gone already.
            yield* yield* pick(removals)
          }
        }
        for (const id of all) assert.deepInclude(yield* usedOf(id), yield* countsOf(id))
      }).pipe(Random.withSeed("quotas"))
    )
  })
