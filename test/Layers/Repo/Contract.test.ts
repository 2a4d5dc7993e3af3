import { readdirSync, readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import type * as Repo from "../../../src/Layers/Repo.ts"
import * as AgentRepo from "../../contract/AgentRepo.ts"
import * as ApprovalRepo from "../../contract/ApprovalRepo.ts"
import * as AuditRepo from "../../contract/AuditRepo.ts"
import * as BudgetRepo from "../../contract/BudgetRepo.ts"
import * as ConnectorRepo from "../../contract/ConnectorRepo.ts"
import * as ConversationBegin from "../../contract/ConversationBegin.ts"
import * as ConversationChats from "../../contract/ConversationChats.ts"
import * as ConversationRepo from "../../contract/ConversationRepo.ts"
import * as ConversationTurns from "../../contract/ConversationTurns.ts"
import * as CronBackfillRepo from "../../contract/CronBackfillRepo.ts"
import * as CronFireRepo from "../../contract/CronFireRepo.ts"
import * as CronJobRepo from "../../contract/CronJobRepo.ts"
import * as CronLedger from "../../contract/CronLedger.ts"
import * as CronMakers from "../../contract/CronMakers.ts"
import * as DatabaseReport from "../../contract/DatabaseReport.ts"
import * as IdempotencyRepo from "../../contract/IdempotencyRepo.ts"
import * as Invitations from "../../contract/Invitations.ts"
import * as MemoryRepo from "../../contract/MemoryRepo.ts"
import * as MemorySearch from "../../contract/MemorySearch.ts"
import * as NewestFirst from "../../contract/NewestFirst.ts"
import * as Order from "../../contract/Order.ts"
import * as Pages from "../../contract/Pages.ts"
import * as Policies from "../../contract/Policies.ts"
import * as ProjectRepo from "../../contract/ProjectRepo.ts"
import * as ProviderKeyRepo from "../../contract/ProviderKeyRepo.ts"
import * as QuotaRepo from "../../contract/QuotaRepo.ts"
import * as References from "../../contract/References.ts"
import * as RemovalRepo from "../../contract/RemovalRepo.ts"
import * as Rights from "../../contract/Rights.ts"
import * as RunClaims from "../../contract/RunClaims.ts"
import * as RunCounts from "../../contract/RunCounts.ts"
import * as RunEnds from "../../contract/RunEnds.ts"
import * as RunEndsCounted from "../../contract/RunEndsCounted.ts"
import * as RunEvents from "../../contract/RunEvents.ts"
import * as RunEventsOfMany from "../../contract/RunEventsOfMany.ts"
import * as RunFairness from "../../contract/RunFairness.ts"
import * as RunJournal from "../../contract/RunJournal.ts"
import * as RunLosses from "../../contract/RunLosses.ts"
import * as RunOwners from "../../contract/RunOwners.ts"
import * as RunPrune from "../../contract/RunPrune.ts"
import * as RunRepo from "../../contract/RunRepo.ts"
import * as RunRetry from "../../contract/RunRetry.ts"
import * as RunSchedule from "../../contract/RunSchedule.ts"
import * as RunTakeOver from "../../contract/RunTakeOver.ts"
import * as RunTimes from "../../contract/RunTimes.ts"
import * as RunTurns from "../../contract/RunTurns.ts"
import * as SealedRepo from "../../contract/SealedRepo.ts"
import * as TokenRepo from "../../contract/TokenRepo.ts"
import * as Transaction from "../../contract/Transaction.ts"
import * as TransactionBound from "../../contract/TransactionBound.ts"
import * as UsageRepo from "../../contract/UsageRepo.ts"
import * as UserRepo from "../../contract/UserRepo.ts"
import * as WebhookHappenings from "../../contract/WebhookHappenings.ts"
import * as WebhookOutbox from "../../contract/WebhookOutbox.ts"
import * as WebhookRepo from "../../contract/WebhookRepo.ts"
import * as WebhookRuns from "../../contract/WebhookRuns.ts"
import * as WorkspaceRepo from "../../contract/WorkspaceRepo.ts"
import { type It, onEveryBackend } from "../../support/Backends.ts"

type Named<S> = S extends { readonly key: `agentd/Services/${infer Name}` } ? Name : never

/** What each backend gives a service: a new port is missing below. */
type Port = Named<Layer.Success<typeof Repo.layerMemory>>

const suites: Readonly<Record<Port, ReadonlyArray<{ readonly suite: (it: It) => void }>>> = {
  UsageRepo: [UsageRepo],
  UserRepo: [UserRepo],
  TokenRepo: [TokenRepo],
  WorkspaceRepo: [WorkspaceRepo, Invitations],
  ProjectRepo: [ProjectRepo],
  ProviderKeyRepo: [ProviderKeyRepo],
  AgentRepo: [AgentRepo, Pages],
  CronJobRepo: [CronJobRepo, CronMakers, Policies],
  RemovalRepo: [RemovalRepo, References],
  CronBackfillRepo: [CronBackfillRepo],
  CronFireRepo: [CronFireRepo, CronLedger],
  ConnectorRepo: [ConnectorRepo, WebhookHappenings],
  ConversationRepo: [ConversationRepo, ConversationBegin, ConversationChats, ConversationTurns, NewestFirst],
  RunRepo: [
    RunRepo,
    RunClaims,
    RunFairness,
    RunOwners,
    RunTakeOver,
    RunLosses,
    RunEnds,
    RunEndsCounted,
    RunRetry,
    RunSchedule,
    WebhookRuns
  ],
  RunCounts: [RunCounts],
  RunJournal: [RunJournal, RunTimes, RunTurns],
  RunEventRepo: [RunEvents, RunEventsOfMany, RunPrune],
  ApprovalRepo: [ApprovalRepo],
  AuditRepo: [AuditRepo],
  IdempotencyRepo: [IdempotencyRepo],
  WebhookOutbox: [WebhookOutbox],
  WebhookRepo: [WebhookRepo],
  MemoryRepo: [MemoryRepo, MemorySearch, Order],
  BudgetRepo: [BudgetRepo],
  QuotaRepo: [QuotaRepo],
  Rights: [Rights],
  Transaction: [Transaction],
  SealedRepo: [SealedRepo],
  // With transactions.
  DatabaseHealth: [],
  DatabaseReport: [DatabaseReport],
  // Signals.test.ts, Snapshots.test.ts and Transfer.test.ts: each backend promises something else.
  Signals: [],
  Snapshots: [],
  Transfer: []
}

onEveryBackend("Repositories", (it) => {
  for (const { suite } of Object.values(suites).flat()) suite(it)
})

onEveryBackend("Repositories with half a second for the database", TransactionBound.suite, {
  databaseTimeoutMillis: 500
})

it("are all that test/contract has", () => {
  const folder = new URL("../../contract/", import.meta.url)
  const here = readFileSync(import.meta.filename, "utf8")
  const written = readdirSync(folder).filter((file) =>
    readFileSync(new URL(file, folder), "utf8").includes("export const suite")
  )
  assert.isAbove(written.length, 20)
  for (const file of written) assert.include(here, `"../../contract/${file}"`)
})
