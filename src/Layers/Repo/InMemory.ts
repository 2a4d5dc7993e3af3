import * as Layer from "effect/Layer"
import * as AgentRepo from "./InMemory/AgentRepo.ts"
import * as ApprovalRepo from "./InMemory/ApprovalRepo.ts"
import * as AuditRepo from "./InMemory/AuditRepo.ts"
import * as BudgetRepo from "./InMemory/BudgetRepo.ts"
import * as ConnectorRepo from "./InMemory/ConnectorRepo.ts"
import * as ConversationRepo from "./InMemory/ConversationRepo.ts"
import * as CronBackfillRepo from "./InMemory/CronBackfillRepo.ts"
import * as CronFireRepo from "./InMemory/CronFireRepo.ts"
import * as CronJobRepo from "./InMemory/CronJobRepo.ts"
import * as DatabaseReport from "./InMemory/DatabaseReport.ts"
import * as IdempotencyRepo from "./InMemory/IdempotencyRepo.ts"
import * as MemoryRepo from "./InMemory/MemoryRepo.ts"
import * as ProjectRepo from "./InMemory/ProjectRepo.ts"
import * as ProviderKeyRepo from "./InMemory/ProviderKeyRepo.ts"
import * as QuotaRepo from "./InMemory/QuotaRepo.ts"
import * as RemovalRepo from "./InMemory/RemovalRepo.ts"
import * as RunCounts from "./InMemory/RunCounts.ts"
import * as RunEventRepo from "./InMemory/RunEventRepo.ts"
import * as RunJournal from "./InMemory/RunJournal.ts"
import * as RunRepo from "./InMemory/RunRepo.ts"
import * as SealedRepo from "./InMemory/SealedRepo.ts"
import * as Signals from "./InMemory/Signals.ts"
import * as Snapshots from "./InMemory/Snapshots.ts"
import { layerHealth, layerTransaction, Store } from "./InMemory/Store.ts"
import * as TokenRepo from "./InMemory/TokenRepo.ts"
import * as Told from "./InMemory/Told.ts"
import * as Transfer from "./InMemory/Transfer.ts"
import * as UsageRepo from "./InMemory/UsageRepo.ts"
import * as UserRepo from "./InMemory/UserRepo.ts"
import * as WebhookOutbox from "./InMemory/WebhookOutbox.ts"
import * as WebhookRepo from "./InMemory/WebhookRepo.ts"
import * as WorkspaceRepo from "./InMemory/WorkspaceRepo.ts"

export const layer = Layer.mergeAll(
  layerHealth,
  layerTransaction,
  AgentRepo.layer,
  ApprovalRepo.layer,
  AuditRepo.layer,
  BudgetRepo.layer,
  ConnectorRepo.layer,
  ConversationRepo.layer,
  CronBackfillRepo.layer,
  CronFireRepo.layer,
  CronJobRepo.layer,
  DatabaseReport.layer,
  IdempotencyRepo.layer,
  MemoryRepo.layer,
  ProjectRepo.layer,
  ProviderKeyRepo.layer,
  QuotaRepo.layer,
  RemovalRepo.layer,
  RunCounts.layer,
  RunEventRepo.layer,
  RunJournal.layer,
  RunRepo.layer,
  SealedRepo.layer,
  Signals.layer,
  Snapshots.layer,
  TokenRepo.layer,
  Layer.provide(Told.layer, Signals.layer),
  Transfer.layer,
  UsageRepo.layer,
  UserRepo.layer,
  WebhookOutbox.layer,
  WebhookRepo.layer,
  WorkspaceRepo.layer
).pipe(Layer.provide(Store.layer))
