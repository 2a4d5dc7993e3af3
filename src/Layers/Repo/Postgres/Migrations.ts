import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"
import { takeTables } from "./MigrationLocks.ts"
import * as Initial from "./migrations/0001_initial.ts"
import * as Specification from "./migrations/0002_specification.ts"
import * as Models from "./migrations/0003_models.ts"
import * as Executions from "./migrations/0004_executions.ts"
import * as Approvals from "./migrations/0005_approvals.ts"
import * as Turns from "./migrations/0006_turns.ts"
import * as CronFires from "./migrations/0007_cron_fires.ts"
import * as Bindings from "./migrations/0008_bindings.ts"
import * as OutputLimits from "./migrations/0009_output_limits.ts"
import * as Removals from "./migrations/0010_removals.ts"
import * as MemoryWords from "./migrations/0011_memory_words.ts"
import * as AnsweringModels from "./migrations/0012_answering_models.ts"
import * as ConnectorHealth from "./migrations/0013_connector_health.ts"
import * as UsersGone from "./migrations/0014_users_gone.ts"
import * as OwnerLimits from "./migrations/0015_owner_limits.ts"
import * as WorkingTime from "./migrations/0016_working_time.ts"
import * as DefaultKeys from "./migrations/0017_default_keys.ts"
import * as MemoryAuthors from "./migrations/0018_memory_authors.ts"
import * as TokenParents from "./migrations/0019_token_parents.ts"
import * as Quotas from "./migrations/0020_quotas.ts"
import * as Audit from "./migrations/0021_audit.ts"
import * as CronMakers from "./migrations/0022_cron_makers.ts"
import * as Invitations from "./migrations/0023_invitations.ts"
import * as RunLists from "./migrations/0024_run_lists.ts"
import * as SlotGenerations from "./migrations/0025_slot_generations.ts"
import * as Retention from "./migrations/0026_retention.ts"
import * as Rights from "./migrations/0027_rights.ts"
import * as NarrowedLists from "./migrations/0028_narrowed_lists.ts"
import * as IdempotencyKeys from "./migrations/0029_idempotency_keys.ts"
import * as Policies from "./migrations/0030_policies.ts"
import * as Usage from "./migrations/0031_usage.ts"
import * as Budgets from "./migrations/0032_budgets.ts"
import * as ScheduledRuns from "./migrations/0033_scheduled_runs.ts"
import * as CronBackfills from "./migrations/0034_cron_backfills.ts"
import * as Webhooks from "./migrations/0035_webhooks.ts"
import * as WebhookDeliveries from "./migrations/0036_webhook_deliveries.ts"
import * as WebhookHappenings from "./migrations/0037_webhook_happenings.ts"
import * as Traces from "./migrations/0038_traces.ts"
import * as ReachedBudgets from "./migrations/0039_reached_budgets.ts"
import * as Faces from "./migrations/0040_faces.ts"
import * as Console from "./migrations/0041_console.ts"

const migration = (statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe(takeTables)
    for (const statement of statements) yield* sql.unsafe(statement)
  })

const migrations = {
  "0001_initial": migration(Initial.statements),
  "0002_specification": migration(Specification.statements),
  "0003_models": migration(Models.statements),
  "0004_executions": migration(Executions.statements),
  "0005_approvals": migration(Approvals.statements),
  "0006_turns": migration(Turns.statements),
  "0007_cron_fires": migration(CronFires.statements),
  "0008_bindings": migration(Bindings.statements),
  "0009_output_limits": migration(OutputLimits.statements),
  "0010_removals": migration(Removals.statements),
  "0011_memory_words": migration(MemoryWords.statements),
  "0012_answering_models": migration(AnsweringModels.statements),
  "0013_connector_health": migration(ConnectorHealth.statements),
  "0014_users_gone": migration(UsersGone.statements),
  "0015_owner_limits": migration(OwnerLimits.statements),
  "0016_working_time": migration(WorkingTime.statements),
  "0017_default_keys": migration(DefaultKeys.statements),
  "0018_memory_authors": migration(MemoryAuthors.statements),
  "0019_token_parents": migration(TokenParents.statements),
  "0020_quotas": migration(Quotas.statements),
  "0021_audit": migration(Audit.statements),
  "0022_cron_makers": migration(CronMakers.statements),
  "0023_invitations": migration(Invitations.statements),
  "0024_run_lists": migration(RunLists.statements),
  "0025_slot_generations": migration(SlotGenerations.statements),
  "0026_retention": migration(Retention.statements),
  "0027_rights": migration(Rights.statements),
  "0028_narrowed_lists": migration(NarrowedLists.statements),
  "0029_idempotency_keys": migration(IdempotencyKeys.statements),
  "0030_policies": migration(Policies.statements),
  "0031_usage": migration(Usage.statements),
  "0032_budgets": migration(Budgets.statements),
  "0033_scheduled_runs": migration(ScheduledRuns.statements),
  "0034_cron_backfills": migration(CronBackfills.statements),
  "0035_webhooks": migration(Webhooks.statements),
  "0036_webhook_deliveries": migration(WebhookDeliveries.statements),
  "0037_webhook_happenings": migration(WebhookHappenings.statements),
  "0038_traces": migration(Traces.statements),
  "0039_reached_budgets": migration(ReachedBudgets.statements),
  "0040_faces": migration(Faces.statements),
  "0041_console": migration(Console.statements)
}

/** The number of the last one. */
export const latest = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

/**
 * Brings the database up to date: each migration once, in one transaction, in order. Nodes that start
 * together wait for each other on a table lock, and the later ones find nothing to do. Nodes that serve
 * meanwhile wait for it, and none of their statements is broken off by a deadlock with it.
 */
export const migrate = Migrator.make({})({
  table: "agentd_migrations",
  loader: Migrator.fromRecord(migrations)
})
