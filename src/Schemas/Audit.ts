import * as Schema from "effect/Schema"
import { AuditEntryId, CronJobId, TokenId, UserId, WorkspaceId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

/** What is kept that was done. The word before the point is the kind of what `targetId` names. */
export type AuditAction =
  | "agent.create"
  | "agent.update"
  | "agent.delete"
  | "agent.policy"
  | "approval.approve"
  | "approval.reject"
  /** Of the workspace that is the target. */
  | "budget.update"
  | "connector.create"
  | "connector.update"
  | "connector.delete"
  | "conversation.delete"
  /** Slots of it are to be made up, or no more. */
  | "cron_job.backfill"
  | "cron_job.cancel_backfill"
  | "cron_job.create"
  | "cron_job.update"
  | "cron_job.delete"
  | "cron_job.policy"
  | "cron_job.run"
  /** It is off, since who answers for it is no member any more, or is disabled. */
  | "cron_job.stop"
  /** An owner answers for it from now on. */
  | "cron_job.take_over"
  /** Somebody who has the e-mail, now or one day; the target is the invitation. */
  | "member.invite"
  /** Who was invited has come, and is a member from now on. */
  | "member.join"
  | "member.leave"
  | "member.remove"
  /** Somebody is a member, or an owner, from now on. */
  | "member.set_member"
  | "member.set_owner"
  | "memory.write"
  | "memory.delete"
  /** In the conversation that is the target. */
  | "message.send"
  | "project.create"
  | "provider_key.create"
  | "provider_key.update"
  | "provider_key.delete"
  /** A right of owners was refused; the target is the workspace. */
  | "right.refuse"
  | "run.create"
  | "run.cancel"
  | "run.retry"
  /** A stored secret was opened for a run, or because somebody looked; the target is whose it is. */
  | "secret.use"
  | "session.start"
  | "session.end"
  | "token.create"
  | "token.revoke"
  | "user.disable"
  /** A link was made that signs the user in once. */
  | "user.sign_in_link"
  | "user.enable"
  | "user.delete"
  | "webhook.create"
  | "webhook.update"
  | "webhook.delete"
  /** By the service: its receiver is gone, or has taken nothing for days. */
  | "webhook.disabled"
  /** The target is the delivery that is sent anew. */
  | "webhook.redeliver"
  | "webhook.rotate_secret"
  | "webhook.test"
  | "workspace.create"
  | "workspace.update"
  | "workspace.plan"

/** Who did it: a user by a token, a cron job that was due, or a part of the service: `operator`, or a run by its id. */
export const Actor = Schema.Union([
  Schema.Struct({ userId: UserId, tokenId: TokenId }),
  Schema.Struct({ cronJobId: CronJobId }),
  Schema.Struct({ system: Schema.String })
])
export type Actor = typeof Actor.Type

/** Who did what to what, and when; ids alone, no text of anybody (CONTRACT.md section 12). */
export const AuditEntry = Schema.Struct({
  id: AuditEntryId,
  at: Timestamp,
  actor: Actor,
  /** An `AuditAction`, or one of a later version. */
  action: Schema.String,
  targetId: Schema.NullOr(Schema.String),
  /** Of the request that did it, and from where that came; null where it was none. */
  requestId: Schema.NullOr(Schema.String),
  address: Schema.NullOr(Schema.String)
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

/** An entry as it is stored. */
export const StoredAuditEntry = Schema.Struct({ ...AuditEntry.fields, workspaceId: WorkspaceId })
export type StoredAuditEntry = typeof StoredAuditEntry.Type

/**
 * In whose log an entry is: that of one workspace, or, of what is of a user and of no workspace, in that of each
 * workspace that the user is a member of at the moment (`mostWorkspaces`).
 */
export type AuditScope = { readonly workspaceId: WorkspaceId } | { readonly userId: UserId }

/** As many entries as rows are changed, each in the log of the workspace of its row. */
export const ofRows = "rows"

/** In how many logs an entry about a user is at most: of the workspaces that the user was let into first. */
export const mostWorkspaces = 1000

/** A change whose entry is written with it. */
export interface AuditedChange {
  readonly action: AuditAction
  readonly scope: AuditScope | typeof ofRows
  /** Null: the id of what is changed. */
  readonly targetId: string | null
  /** Null: whoever acts now. */
  readonly actor: Actor | null
}

/** An entry that is to be written. */
export interface NewAuditEntry extends AuditEntry {
  readonly scope: AuditedChange["scope"]
}

/** What is known of the request that is answered. */
interface Asked {
  readonly requestId?: string
  readonly address?: string
  readonly tokenId?: TokenId
  readonly userId?: UserId
}

/** Who acts where nobody is known who asked. */
const service: Actor = { system: "agentd" }

const callerOf = (asked: Asked | undefined): Actor | null =>
  asked?.userId === undefined || asked.tokenId === undefined
    ? null
    : { userId: asked.userId, tokenId: asked.tokenId }

/** The entry of a change. `acting` is who acts whoever has asked: then no request is told of. */
export const newAuditEntry = (
  change: AuditedChange,
  {
    acting,
    asked,
    ...given
  }: Pick<AuditEntry, "id" | "at"> & {
    readonly acting: Actor | null
    readonly asked: Asked | undefined
  }
): NewAuditEntry => {
  const { action, scope, targetId } = change
  const other = change.actor ?? acting
  const request = other === null ? asked : undefined
  return {
    ...given,
    actor: other ?? callerOf(asked) ?? service,
    action,
    scope,
    targetId,
    requestId: request?.requestId ?? null,
    address: request?.address ?? null
  }
}
