import * as Layer from "effect/Layer"
import { Access } from "../Services/Access.ts"
import { Accounts } from "../Services/Accounts.ts"
import { Agents } from "../Services/Agents.ts"
import { Approvals } from "../Services/Approvals.ts"
import * as AuditLog from "../Services/AuditLog.ts"
import { Budgets } from "../Services/Budgets.ts"
import { Chat } from "../Services/Chat.ts"
import * as ConnectorReports from "../Services/ConnectorReports.ts"
import { Connectors } from "../Services/Connectors.ts"
import { CronJobs } from "../Services/CronJobs.ts"
import { DatabaseGauges } from "../Services/DatabaseGauges.ts"
import * as Engine from "../Services/Engine.ts"
import { Idempotency } from "../Services/Idempotency.ts"
import { Ids } from "../Services/Ids.ts"
import type { Inference } from "../Services/Inference.ts"
import { Lifecycle } from "../Services/Lifecycle.ts"
import { Memory } from "../Services/Memory.ts"
import { Policies } from "../Services/Policies.ts"
import { Projects } from "../Services/Projects.ts"
import { ProviderKeys } from "../Services/ProviderKeys.ts"
import { Quotas } from "../Services/Quotas.ts"
import { References } from "../Services/References.ts"
import { Retries } from "../Services/Retries.ts"
import { Runs } from "../Services/Runs.ts"
import { Secrets } from "../Services/Secrets.ts"
import { Tokens } from "../Services/Tokens.ts"
import { Turns } from "../Services/Turns.ts"
import { Usage } from "../Services/Usage.ts"
import { Webhooks } from "../Services/Webhooks.ts"
import { Workplace } from "../Services/Workplace.ts"
import { Workspaces } from "../Services/Workspaces.ts"
import * as Auth from "./Auth.ts"
import * as Models from "./Inference.ts"
import * as Outbound from "./Outbound.ts"
import * as Tools from "./Tools.ts"

const useCases = Layer.mergeAll(
  Accounts.layer,
  Agents.layer,
  Approvals.layer,
  AuditLog.AuditLog.layer,
  Budgets.layer,
  Chat.layer,
  Connectors.layer,
  CronJobs.layer,
  DatabaseGauges.layer,
  Idempotency.layer,
  Retries.layer,
  Memory.layer,
  Policies.layer,
  Projects.layer,
  ProviderKeys.layer,
  Quotas.layer,
  Runs.layer,
  Secrets.layer,
  Tokens.layer,
  Usage.layer,
  Webhooks.layer,
  Workplace.layer,
  Workspaces.layer
).pipe(
  Layer.merge(Turns.layer.pipe(Layer.provide(Runs.layer))),
  Layer.provideMerge(Layer.mergeAll(References.layer, Access.layer))
)

const beneath =
  <E, R>(inference: Layer.Layer<Inference, E, R>) =>
  <A, E2, R2>(upper: Layer.Layer<A, E2, R2>) =>
    upper.pipe(
      Layer.provideMerge(Engine.layer),
      Layer.provideMerge(Layer.mergeAll(Auth.layerRated, inference, Tools.layer)),
      Layer.provideMerge(
        Layer.mergeAll(
          AuditLog.layerNotes,
          Lifecycle.layer,
          Outbound.layer,
          ConnectorReports.layer,
          Tools.layerSchemaCheck
        )
      ),
      Layer.provideMerge(Ids.layer)
    )

/** Every use case over these models, chat turns included; repositories and settings are still to be provided. */
export const layerWith = <E, R>(inference: Layer.Layer<Inference, E, R>) =>
  useCases.pipe(Layer.provideMerge(Engine.layerTurns), beneath(inference))

/** Every use case over the models of this process. */
export const layer = layerWith(Models.layer)

/** The same, but no fiber of it runs by itself: chat turns are stored, and nobody executes them. */
export const layerAtRest = useCases.pipe(beneath(Models.layer))
