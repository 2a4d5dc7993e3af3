import * as Schema from "effect/Schema"
import { ConnectorReference } from "./Connector.ts"
import { ApprovalId, RunId, UserId, WorkspaceId } from "./Ids.ts"
import { sortedJson } from "./Json.ts"
import type { StoredRun } from "./Run.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import { type BoundCall, identity } from "./ToolBinding.ts"

export const ApprovalStatus = Schema.Literals(["PENDING", "APPROVED", "REJECTED", "EXPIRED"])
export type ApprovalStatus = typeof ApprovalStatus.Type

/** A tool call that waits, or waited, for somebody to allow it (CONTRACT.md sections 5 and 8). */
export const Approval = Schema.Struct({
  id: ApprovalId,
  workspaceId: WorkspaceId,
  runId: RunId,
  toolCallId: Schema.String,
  tool: Schema.String,
  /** Of a connector's tool: which one it is of, where its server is (without secrets) and what it says of it. */
  connector: Schema.NullOr(ConnectorReference),
  address: Schema.NullOr(Schema.String),
  description: Schema.NullOr(Schema.String),
  arguments: Schema.Json,
  status: ApprovalStatus,
  reason: Schema.NullOr(Schema.String),
  decidedBy: Schema.NullOr(UserId),
  decidedAt: Schema.NullOr(Timestamp),
  createdAt: Timestamp,
  expiresAt: Timestamp
}).annotate({ identifier: "Approval" })
export type Approval = typeof Approval.Type

export const DecideApproval = Schema.Struct({
  decision: Schema.Literals(["approve", "reject"]),
  reason: Schema.optionalKey(Schema.NullOr(text(0, 1000)))
}).annotate({ identifier: "DecideApproval" })
export type DecideApproval = typeof DecideApproval.Type

/** 409: somebody was faster, or the run no longer waits. */
export class ApprovalDecided extends Schema.TaggedError<ApprovalDecided>()("ApprovalDecided", {
  error: Schema.String
}) {}

/** An approval as it is stored: with the fingerprint of the very call that it is about. */
export const StoredApproval = Schema.Struct({ ...Approval.fields, fingerprint: Schema.String })
export type StoredApproval = typeof StoredApproval.Type

export const toApproval = ({ fingerprint: _, ...approval }: StoredApproval): Approval => approval

/**
 * What an approval is bound to: the tool and its exact arguments, whatever the order of their fields. A tool of a
 * connector is its connector, address, name there and definition; any other, and all of calls that a version before
 * has kept, is the name that the model said.
 */
export const fingerprintText = ({ arguments: argument, binding, name }: BoundCall): string =>
  JSON.stringify([binding == null ? name : { tool: identity(binding) }, sortedJson(argument)])

/** What a model is told of a call that somebody did not allow. */
export const rejection = (reason: string | null): string =>
  reason === null || reason.trim() === ""
    ? "This call was not allowed by the person in charge."
    : `This call was not allowed by the person in charge: ${reason}`

/** What a model is told of a call that was made of a tool that is another by now. */
export const toolChanged = (wasApproved: boolean): string =>
  wasApproved
    ? "This call was not made: its tool was changed since people were asked about the call. Make it again if it still fits."
    : "This call was not made: its tool was changed since. Make it again if it still fits."

/** What a model is told of a call whose tool can't be had, where nobody waits for it. */
export const notMade = (why: string, wasApproved: boolean): string =>
  wasApproved ? `This call was approved, but it was not made: ${why}` : `This call was not made: ${why}`

/** Why a run ends that nobody decided about in time. */
export const notDecided = "nobody decided in time about a tool call that needs approval"

/** A run that nobody decided about until `at`. */
export const endUndecided = (run: StoredRun, at: Date): StoredRun => ({
  ...run,
  status: "FAILED",
  error: notDecided,
  errorCode: "approval_expired",
  finishedAt: at,
  updatedAt: at
})
