import * as Layer from "effect/Layer"
import * as MemoryAgentRepo from "./Repo/Memory/AgentRepo.ts"
import * as MemoryApprovalRepo from "./Repo/Memory/ApprovalRepo.ts"
import * as MemoryConnectorRepo from "./Repo/Memory/ConnectorRepo.ts"
import * as MemoryConversationRepo from "./Repo/Memory/ConversationRepo.ts"
import * as MemoryCronFireRepo from "./Repo/Memory/CronFireRepo.ts"
import * as MemoryCronJobRepo from "./Repo/Memory/CronJobRepo.ts"
import * as MemoryMemoryRepo from "./Repo/Memory/MemoryRepo.ts"
import * as MemoryProjectRepo from "./Repo/Memory/ProjectRepo.ts"
import * as MemoryProviderKeyRepo from "./Repo/Memory/ProviderKeyRepo.ts"
import * as MemoryRunEventRepo from "./Repo/Memory/RunEventRepo.ts"
import * as MemoryRunJournal from "./Repo/Memory/RunJournal.ts"
import * as MemoryRunRepo from "./Repo/Memory/RunRepo.ts"
import * as MemorySignals from "./Repo/Memory/Signals.ts"
import {
  layerHealth as layerMemoryHealth,
  layerTransaction as layerMemoryTransaction,
  Store
} from "./Repo/Memory/Store.ts"
import * as MemoryTokenRepo from "./Repo/Memory/TokenRepo.ts"
import * as MemoryTransfer from "./Repo/Memory/Transfer.ts"
import * as MemoryUserRepo from "./Repo/Memory/UserRepo.ts"
import * as MemoryWorkspaceRepo from "./Repo/Memory/WorkspaceRepo.ts"
import * as PostgresAgentRepo from "./Repo/Postgres/AgentRepo.ts"
import * as PostgresApprovalRepo from "./Repo/Postgres/ApprovalRepo.ts"
import * as PostgresConnectorRepo from "./Repo/Postgres/ConnectorRepo.ts"
import * as PostgresConversationRepo from "./Repo/Postgres/ConversationRepo.ts"
import * as PostgresCronFireRepo from "./Repo/Postgres/CronFireRepo.ts"
import * as PostgresCronJobRepo from "./Repo/Postgres/CronJobRepo.ts"
import {
  Database,
  layerHealth as layerPostgresHealth,
  layerTransaction as layerPostgresTransaction
} from "./Repo/Postgres/Database.ts"
import * as PostgresMemoryRepo from "./Repo/Postgres/MemoryRepo.ts"
import * as PostgresProjectRepo from "./Repo/Postgres/ProjectRepo.ts"
import * as PostgresProviderKeyRepo from "./Repo/Postgres/ProviderKeyRepo.ts"
import * as PostgresRunEventRepo from "./Repo/Postgres/RunEventRepo.ts"
import * as PostgresRunJournal from "./Repo/Postgres/RunJournal.ts"
import * as PostgresRunRepo from "./Repo/Postgres/RunRepo.ts"
import * as PostgresSignals from "./Repo/Postgres/Signals.ts"
import * as PostgresTokenRepo from "./Repo/Postgres/TokenRepo.ts"
import * as PostgresTransfer from "./Repo/Postgres/Transfer.ts"
import * as PostgresUserRepo from "./Repo/Postgres/UserRepo.ts"
import * as PostgresWorkspaceRepo from "./Repo/Postgres/WorkspaceRepo.ts"

/** Every repository over tables in memory: for tests, nothing outlives it. */
export const layerMemory = Layer.mergeAll(
  layerMemoryHealth,
  layerMemoryTransaction,
  MemoryAgentRepo.layer,
  MemoryApprovalRepo.layer,
  MemoryConnectorRepo.layer,
  MemoryConversationRepo.layer,
  MemoryCronFireRepo.layer,
  MemoryCronJobRepo.layer,
  MemoryMemoryRepo.layer,
  MemoryProjectRepo.layer,
  MemoryProviderKeyRepo.layer,
  MemoryRunEventRepo.layer,
  MemoryRunJournal.layer,
  MemoryRunRepo.layer,
  MemorySignals.layer,
  MemoryTokenRepo.layer,
  MemoryTransfer.layer,
  MemoryUserRepo.layer,
  MemoryWorkspaceRepo.layer
).pipe(Layer.provide(Store.layer))

/** Every repository over a migrated PostgreSQL, embedded or not. */
export const layerPostgres = Layer.mergeAll(
  layerPostgresHealth,
  layerPostgresTransaction,
  PostgresAgentRepo.layer,
  PostgresApprovalRepo.layer,
  PostgresConnectorRepo.layer,
  PostgresConversationRepo.layer,
  PostgresCronFireRepo.layer,
  PostgresCronJobRepo.layer,
  PostgresMemoryRepo.layer,
  PostgresProjectRepo.layer,
  PostgresProviderKeyRepo.layer,
  PostgresRunEventRepo.layer,
  PostgresRunJournal.layer,
  PostgresRunRepo.layer,
  PostgresSignals.layer,
  PostgresTokenRepo.layer,
  PostgresTransfer.layer,
  PostgresUserRepo.layer,
  PostgresWorkspaceRepo.layer
).pipe(Layer.provide(Database.layer))
