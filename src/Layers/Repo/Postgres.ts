import * as Layer from "effect/Layer"
import * as AgentRepo from "./Postgres/AgentRepo.ts"
import * as ApprovalRepo from "./Postgres/ApprovalRepo.ts"
import * as AuditRepo from "./Postgres/AuditRepo.ts"
import * as BudgetRepo from "./Postgres/BudgetRepo.ts"
import * as ConnectorRepo from "./Postgres/ConnectorRepo.ts"
import * as ConversationRepo from "./Postgres/ConversationRepo.ts"
import * as CronBackfillRepo from "./Postgres/CronBackfillRepo.ts"
import * as CronFireRepo from "./Postgres/CronFireRepo.ts"
import * as CronJobRepo from "./Postgres/CronJobRepo.ts"
import { Database, layerHealth, layerTransaction } from "./Postgres/Database.ts"
import * as DatabaseReport from "./Postgres/DatabaseReport.ts"
import * as IdempotencyRepo from "./Postgres/IdempotencyRepo.ts"
import * as MemoryRepo from "./Postgres/MemoryRepo.ts"
import * as ProjectRepo from "./Postgres/ProjectRepo.ts"
import * as ProviderKeyRepo from "./Postgres/ProviderKeyRepo.ts"
import * as QuotaRepo from "./Postgres/QuotaRepo.ts"
import * as RemovalRepo from "./Postgres/RemovalRepo.ts"
import * as RunCounts from "./Postgres/RunCounts.ts"
import * as RunEventRepo from "./Postgres/RunEventRepo.ts"
import * as RunJournal from "./Postgres/RunJournal.ts"
import * as RunRepo from "./Postgres/RunRepo.ts"
import * as SealedRepo from "./Postgres/SealedRepo.ts"
import * as Signals from "./Postgres/Signals.ts"
import * as Snapshots from "./Postgres/Snapshots.ts"
import * as TokenRepo from "./Postgres/TokenRepo.ts"
import * as Transfer from "./Postgres/Transfer.ts"
import * as UsageRepo from "./Postgres/UsageRepo.ts"
import * as UserRepo from "./Postgres/UserRepo.ts"
import * as WebhookOutbox from "./Postgres/WebhookOutbox.ts"
import * as WebhookRepo from "./Postgres/WebhookRepo.ts"
import * as WorkspaceRepo from "./Postgres/WorkspaceRepo.ts"

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
  Transfer.layer,
  UsageRepo.layer,
  UserRepo.layer,
  WebhookOutbox.layer,
  WebhookRepo.layer,
  WorkspaceRepo.layer
).pipe(Layer.provide(Database.layer))

/** What can be asked of a database that is not migrated. */
export const layerReport = Layer.merge(DatabaseReport.layer, SealedRepo.layer).pipe(
  Layer.provide(Database.layer)
)
