import { describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Unavailable } from "../../../src/Schemas/Errors.ts"
import type {
  ConnectorId,
  ConversationId,
  CronJobId,
  MessageId,
  ProjectId,
  TokenId,
  UserId,
  WorkspaceId
} from "../../../src/Schemas/Ids.ts"
import type { Removal } from "../../../src/Schemas/Removal.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import { CronJobRepo } from "../../../src/Services/CronJobRepo.ts"
import { MemoryRepo } from "../../../src/Services/MemoryRepo.ts"
import type { Pages } from "../../../src/Services/Pages.ts"
import { ProjectRepo } from "../../../src/Services/ProjectRepo.ts"
import { ProviderKeyRepo } from "../../../src/Services/ProviderKeyRepo.ts"
import { QuotaRepo } from "../../../src/Services/QuotaRepo.ts"
import { RemovalRepo } from "../../../src/Services/RemovalRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { SealedRepo } from "../../../src/Services/SealedRepo.ts"
import { TokenRepo } from "../../../src/Services/TokenRepo.ts"
import { UserRepo } from "../../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import type { Backend } from "../../support/Backends.ts"
import { listed } from "../../support/Listed.ts"
import * as Postgres from "../../support/Postgres.ts"
import { type IndexUse, indexUse, seeded } from "./IndexUse.ts"

const workspaceId = "ws_7" as WorkspaceId
const projectId = "proj_7" as ProjectId
/** Has nothing, in a workspace that has much. */
const smallProject = "other_107" as ProjectId
const userId = "user_7" as UserId

const pages = { limit: 20, offset: 0 }

/** Marked, and then let go of by all. */
const removal = <I, R>(
  of: Removal,
  port: Effect.Effect<{ readonly remove: (id: I & string) => Effect.Effect<unknown, Unavailable> }, never, R>
) =>
  Effect.gen(function* () {
    yield* (yield* port).remove(of.id as I & string)
    const removals = yield* RemovalRepo
    yield* Effect.repeat(removals.advance(of, 9), { while: (count) => count > 0 })
  })

const suite = () =>
  layer(seeded, { excludeTestServices: true })((it) => {
    it.effect.each<IndexUse & { readonly what: string }>([
      {
        what: "the list of agents",
        table: "agents",
        index: "agents_of_workspace",
        call: Effect.flatMap(AgentRepo, (agents) => listed(agents, { workspaceId }))
      },
      {
        what: "agents of a name",
        table: "agents",
        index: "agents_by_name",
        call: Effect.flatMap(AgentRepo, (agents) => agents.named(workspaceId, "agent 7"))
      },
      ...(
        [
          ["agents", AgentRepo],
          ["cron_jobs", CronJobRepo],
          ["connectors", ConnectorRepo],
          ["memory_entries", MemoryRepo]
        ] as const
      ).map(([table, repo]) => {
        const pages: Effect.Effect<Pages<unknown>, never, Backend> = repo
        return {
          what: `the list of the ${table} of a project`,
          table,
          index: `${table}_of_project`,
          call: Effect.flatMap(pages, (list) => listed(list, { workspaceId, projectId: smallProject }))
        }
      }),
      {
        what: "the list of the conversations of a project",
        table: "conversations",
        index: "conversations_of_project",
        call: Effect.flatMap(ConversationRepo, (repo) =>
          repo.list({ workspaceId, projectId: smallProject, ...pages })
        )
      },
      {
        what: "the list of conversations",
        table: "conversations",
        index: "conversations_shown",
        call: Effect.flatMap(ConversationRepo, (repo) => repo.list({ workspaceId, ...pages }))
      },
      {
        what: "the conversation of a chat",
        table: "conversations",
        index: "conversations_of_chat",
        call: Effect.flatMap(ConversationRepo, (repo) =>
          repo.findChat({ workspaceId, ownerId: "user" as UserId, chatId: "chat" })
        )
      },
      {
        what: "the last messages of the list of conversations",
        table: "messages",
        index: "messages_of_conversation",
        call: Effect.flatMap(ConversationRepo, (repo) => repo.list({ workspaceId, projectId, ...pages }))
      },
      {
        what: "the list of runs",
        table: "runs",
        index: "runs_of_workspace",
        call: Effect.flatMap(RunRepo, (runs) => runs.list({ workspaceId, ...pages }))
      },
      {
        what: "the list of the runs of a project that are over",
        table: "runs",
        index: "runs_by_project",
        call: Effect.flatMap(RunRepo, (runs) =>
          runs.list({ workspaceId, projectId, status: "COMPLETED", ...pages })
        )
      },
      ...(
        [
          ["agents", AgentRepo, "agents_of_workspace", "agent_107"],
          ["cron_jobs", CronJobRepo, "cron_jobs_of_workspace", "cron_107"],
          ["connectors", ConnectorRepo, "connectors_of_workspace", "conn_107"],
          ["memory_entries", MemoryRepo, "memory_entries_by_age", "mem_107"]
        ] as const
      ).flatMap(([table, repo, index, id]) => {
        const after = { id, createdAt: null }
        const pages: Effect.Effect<Pages<unknown>, never, Backend> = repo
        return [
          {
            what: `a page of ${table}`,
            table,
            index,
            call: Effect.flatMap(pages, ({ page }) => page({ workspaceId }, { after, until: null, limit: 9 }))
          },
          {
            what: `the extent of a page of ${table}`,
            table,
            index,
            call: Effect.flatMap(pages, ({ extent }) => extent({ workspaceId }, { after, limit: 9 }))
          }
        ]
      }),
      {
        what: "a page of runs",
        table: "runs",
        index: "runs_of_workspace",
        call: Effect.flatMap(RunRepo, (runs) =>
          runs.slice({ workspaceId }, { after: { id: "run_107", createdAt: null }, until: null, limit: 9 })
        )
      },
      {
        what: "the extent of a page of runs",
        table: "runs",
        index: "runs_of_workspace",
        call: Effect.flatMap(RunRepo, (runs) => runs.extent({ workspaceId, ...pages }))
      },
      ...(
        [
          ["newest", { before: "msg_107" as MessageId, limit: 9 }],
          ["extent", { before: "msg_107" as MessageId, limit: 9 }],
          ["messages", { after: 1, until: 9, limit: 9 }]
        ] as const
      ).map(([name, part]) => ({
        what: `a page of messages, ${name}`,
        table: "messages",
        index: "messages_of_conversation",
        call: Effect.flatMap(
          ConversationRepo,
          (repo) => repo[name]("conv_107" as ConversationId, part as never) as Effect.Effect<unknown, unknown>
        )
      })),
      {
        what: "the search of memory",
        table: "memory_entries",
        call: Effect.flatMap(MemoryRepo, (memory) => memory.search({ workspaceId, projectId, limit: 20 }))
      },
      {
        what: "the search of memory for words",
        table: "memory_entries",
        index: "memory_entries_words",
        call: Effect.flatMap(MemoryRepo, (memory) =>
          memory.search({ workspaceId, projectId, query: "general", limit: 20 })
        )
      },
      {
        what: "the list of cron jobs",
        table: "cron_jobs",
        index: "cron_jobs_of_workspace",
        call: Effect.flatMap(CronJobRepo, (jobs) => listed(jobs, { workspaceId }))
      },
      {
        what: "the list of the runs of a cron job",
        table: "runs",
        index: "runs_by_cron_job",
        call: Effect.flatMap(RunRepo, (runs) =>
          runs.list({ workspaceId, cronJobId: "cron_107" as CronJobId, ...pages })
        )
      },
      {
        what: "the list of connectors",
        table: "connectors",
        index: "connectors_of_workspace",
        call: Effect.flatMap(ConnectorRepo, (connectors) => listed(connectors, { workspaceId }))
      },
      {
        what: "the count of active connectors",
        table: "connectors",
        index: "connectors_of_workspace",
        call: Effect.flatMap(ConnectorRepo, (connectors) => connectors.countActive(workspaceId))
      },
      {
        what: "the check of the connectors that a run names",
        table: "connectors",
        call: Effect.flatMap(ConnectorRepo, (connectors) =>
          connectors.countOf(workspaceId, ["conn_7", "conn_107"])
        )
      },
      {
        what: "the list of memory",
        table: "memory_entries",
        call: Effect.flatMap(MemoryRepo, (memory) => listed(memory, { workspaceId }))
      },
      {
        what: "the list of memory by category",
        table: "memory_entries",
        index: "memory_entries_by_category",
        call: Effect.flatMap(MemoryRepo, (memory) => listed(memory, { workspaceId, category: "rare" }))
      },
      {
        what: "the list of the memory of a project by category",
        table: "memory_entries",
        call: Effect.flatMap(MemoryRepo, (memory) =>
          listed(memory, { workspaceId, projectId, category: "general" })
        )
      },
      {
        what: "the list of memory by key",
        table: "memory_entries",
        call: Effect.flatMap(MemoryRepo, (memory) => listed(memory, { workspaceId, key: "k107" }))
      },
      {
        what: "the list of projects",
        table: "projects",
        index: "projects_of_workspace",
        call: Effect.flatMap(ProjectRepo, (projects) => projects.list(workspaceId))
      },
      {
        what: "the list of provider keys",
        table: "provider_keys",
        index: "provider_keys_of_workspace",
        call: Effect.flatMap(ProviderKeyRepo, (keys) => keys.list(workspaceId))
      },
      {
        what: "the list of tokens",
        table: "tokens",
        index: "tokens_in_use",
        call: Effect.flatMap(TokenRepo, (tokens) => tokens.list(userId, new Date()))
      },
      {
        what: "the count of the tokens of a user that work",
        table: "tokens",
        index: "tokens_in_use",
        call: Effect.flatMap(QuotaRepo, (quotas) => quotas.count(workspaceId, userId, new Date()))
      },
      {
        what: "the count of the workspaces that a user owns",
        table: "workspace_members",
        index: "workspace_members_owners",
        call: Effect.flatMap(QuotaRepo, (quotas) => quotas.count(workspaceId, userId, new Date()))
      },
      {
        what: "the counts of a workspace",
        table: "quota_counts",
        index: "quota_counts_pkey",
        call: Effect.flatMap(QuotaRepo, (quotas) => quotas.count(workspaceId, userId, new Date()))
      },
      {
        what: "the page of all tokens",
        table: "tokens",
        index: "tokens_pkey",
        call: Effect.flatMap(TokenRepo, (tokens) =>
          tokens.page({ userId: null, after: "token_5" as TokenId, limit: 20, now: new Date() })
        )
      },
      {
        what: "the page of the tokens of a user",
        table: "tokens",
        index: "tokens_in_use",
        call: Effect.flatMap(TokenRepo, (tokens) =>
          tokens.page({ userId, after: null, limit: 20, now: new Date() })
        )
      },
      {
        what: "the page of all users",
        table: "users",
        index: "users_pkey",
        call: Effect.flatMap(UserRepo, (users) => users.page({ after: "user_5" as UserId, limit: 20 }))
      },
      {
        what: "the page of all workspaces",
        table: "workspaces",
        index: "workspaces_pkey",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) =>
          workspaces.page({ userId: null, after: workspaceId, limit: 20 })
        )
      },
      ...(
        [
          ["apiKey", "provider_keys"],
          ["credential", "connectors"],
          ["headers", "connectors"]
        ] as const
      ).map(([place, table]) => ({
        what: `the page of what is sealed as ${place}`,
        table,
        index: `${table}_pkey`,
        call: Effect.flatMap(SealedRepo, (sealed) => sealed.page({ place, after: null, limit: 20 }))
      })),
      ...(["health", "forgetHealth"] as const).map((name) => ({
        what: `${name} of a connector`,
        table: "connector_health",
        index: "connector_health_pkey",
        call: Effect.flatMap(ConnectorRepo, (connectors) => connectors[name]("conn_7" as ConnectorId))
      })),
      {
        what: "the page of the workspaces of a user",
        table: "workspace_members",
        index: "workspace_members_of_user",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) =>
          workspaces.page({ userId, after: null, limit: 20 })
        )
      },
      {
        what: "the lock of the workspaces of a user",
        table: "workspace_members",
        index: "workspace_members_owners",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) => workspaces.lockOwned(userId))
      },
      {
        what: "the removal of the tokens of a user",
        table: "tokens",
        index: "tokens_of_user",
        call: Effect.flatMap(TokenRepo, (tokens) => tokens.removeOf("user_nobody" as UserId))
      },
      {
        what: "the revocation of what a token made",
        table: "tokens",
        index: "tokens_of_parent",
        call: Effect.flatMap(TokenRepo, (tokens) => tokens.revoke(userId, "token_7" as TokenId, new Date()))
      },
      {
        what: "the look at who may read on",
        table: "tokens",
        index: "tokens_pkey",
        call: Effect.flatMap(TokenRepo, (tokens) =>
          tokens.mayRead([{ tokenId: "token_7" as TokenId, workspaceId }], new Date())
        )
      },
      {
        what: "the look for tokens that ended long ago",
        table: "tokens",
        index: "tokens_over",
        call: Effect.flatMap(TokenRepo, (tokens) => tokens.prune(new Date(), 9))
      },
      {
        what: "the list of the workspaces of a user",
        table: "workspace_members",
        index: "workspace_members_of_user",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) => workspaces.list(userId))
      },
      {
        what: "the list of members",
        table: "workspace_members",
        index: "workspace_members_pkey",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) => workspaces.members(workspaceId))
      },
      ...(
        [
          ["runs", "runs_of_provider_key"],
          ["agents", "agents_of_provider_key"]
        ] as const
      ).map(([table, index]) => ({
        what: `the removal of a provider key from ${table}`,
        table,
        index,
        call: removal({ kind: "providerKey", id: `pkey_1${table.length}` }, ProviderKeyRepo)
      })),
      ...(
        [
          ["runs", "runs_by_agent"],
          ["conversations", "conversations_of_agent"],
          ["cron_jobs", "cron_jobs_of_agent"]
        ] as const
      ).map(([table, index]) => ({
        what: `the removal of an agent from ${table}`,
        table,
        index,
        call: removal({ kind: "agent", id: `agent_1${table.length}` }, AgentRepo)
      })),
      ...(
        [
          ["runs", "runs_of_conversation"],
          ["messages", "messages_of_conversation"]
        ] as const
      ).map(([table, index]) => ({
        what: `the removal of a conversation with its ${table}`,
        table,
        index,
        call: removal({ kind: "conversation", id: `conv_1${table.length}` }, ConversationRepo)
      })),
      ...(["agents", "provider_keys", "cron_jobs"] as const).map((table) => ({
        what: `what runs name of ${table} that are being removed`,
        table,
        index: `${table}_deleted`,
        call: Effect.flatMap(RunRepo, (runs) => runs.list({ workspaceId, ...pages }))
      })),
      ...(["agents", "provider_keys", "cron_jobs", "conversations"] as const).map((table) => ({
        what: `the look for ${table} that are being removed`,
        table,
        index: `${table}_deleted`,
        call: Effect.flatMap(RemovalRepo, (removals) => removals.pending(9))
      }))
    ])("$what uses an index", indexUse)
  })

if (Postgres.hasPostgres) describe("Indexes on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Indexes on PostgreSQL"), suite)
