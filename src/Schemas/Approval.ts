import * as Schema from "effect/Schema"
import { ApprovalId, RunId, UserId, WorkspaceId } from "./Ids.ts"
import type { AutonomyLevel, StoredRun } from "./Run.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import type { ToolCall } from "./Tool.ts"

export const ApprovalStatus = Schema.Literals(["PENDING", "APPROVED", "REJECTED", "EXPIRED"])
export type ApprovalStatus = typeof ApprovalStatus.Type

/** A tool call that waits, or waited, for somebody to allow it (CONTRACT.md sections 5 and 8). */
export const Approval = Schema.Struct({
  id: ApprovalId,
  workspaceId: WorkspaceId,
  runId: RunId,
  toolCallId: Schema.String,
  tool: Schema.String,
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

/** Whether a tool is called only after somebody allowed it (CONTRACT.md section 5). */
export const needsApproval = (level: AutonomyLevel, tool: { readonly readOnly: boolean }): boolean =>
  level === "supervised" || (level === "semi-autonomous" && !tool.readOnly)

/** What an approval is bound to: the tool and its exact arguments, whatever the order of their fields. */
export const fingerprintText = ({ arguments: argument, name }: ToolCall): string =>
  JSON.stringify([name, sorted(argument)])

const sorted = (value: Schema.Json): Schema.Json => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}

/** What a model is told of a call that somebody did not allow. */
export const rejection = (reason: string | null): string =>
  reason === null || reason.trim() === ""
    ? "This call was not allowed by the person in charge."
    : `This call was not allowed by the person in charge: ${reason}`

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
