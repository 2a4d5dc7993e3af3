import * as AgentRepo from "../../contract/AgentRepo.ts"
import * as ApprovalRepo from "../../contract/ApprovalRepo.ts"
import * as ConnectorRepo from "../../contract/ConnectorRepo.ts"
import * as ConversationRepo from "../../contract/ConversationRepo.ts"
import * as ConversationTurns from "../../contract/ConversationTurns.ts"
import * as CronFireRepo from "../../contract/CronFireRepo.ts"
import * as CronJobRepo from "../../contract/CronJobRepo.ts"
import * as MemoryRepo from "../../contract/MemoryRepo.ts"
import * as Order from "../../contract/Order.ts"
import * as ProjectRepo from "../../contract/ProjectRepo.ts"
import * as ProviderKeyRepo from "../../contract/ProviderKeyRepo.ts"
import * as RunClaims from "../../contract/RunClaims.ts"
import * as RunEnds from "../../contract/RunEnds.ts"
import * as RunEvents from "../../contract/RunEvents.ts"
import * as RunFairness from "../../contract/RunFairness.ts"
import * as RunJournal from "../../contract/RunJournal.ts"
import * as RunPrune from "../../contract/RunPrune.ts"
import * as RunRepo from "../../contract/RunRepo.ts"
import * as RunTakeOver from "../../contract/RunTakeOver.ts"
import * as RunTurns from "../../contract/RunTurns.ts"
import * as TokenRepo from "../../contract/TokenRepo.ts"
import * as Transaction from "../../contract/Transaction.ts"
import * as TransactionBound from "../../contract/TransactionBound.ts"
import * as UserRepo from "../../contract/UserRepo.ts"
import * as WorkspaceRepo from "../../contract/WorkspaceRepo.ts"
import { onEveryBackend } from "../../support/Backends.ts"

onEveryBackend("Repositories", (it) => {
  for (const { suite } of [
    UserRepo,
    TokenRepo,
    WorkspaceRepo,
    ProjectRepo,
    ProviderKeyRepo,
    AgentRepo,
    CronJobRepo,
    CronFireRepo,
    ConnectorRepo,
    ConversationRepo,
    ConversationTurns,
    RunRepo,
    RunClaims,
    RunFairness,
    RunTakeOver,
    RunEnds,
    RunJournal,
    RunTurns,
    RunEvents,
    RunPrune,
    ApprovalRepo,
    MemoryRepo,
    Order,
    Transaction
  ]) {
    suite(it)
  }
})

onEveryBackend("Repositories with half a second for the database", TransactionBound.suite, {
  databaseTimeoutMillis: 500
})
