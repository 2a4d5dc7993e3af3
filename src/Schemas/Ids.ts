import * as Schema from "effect/Schema"
import { text } from "./Text.ts"

/** The prefix of each kind of identifier (CONTRACT.md section 2). */
export const prefixes = {
  agent: "agent",
  approval: "appr",
  auditEntry: "audit",
  connector: "conn",
  conversation: "conv",
  cronJob: "cron",
  memoryEntry: "mem",
  message: "msg",
  project: "proj",
  request: "req",
  providerKey: "pkey",
  run: "run",
  token: "token",
  toolCall: "call",
  turn: "turn",
  user: "user",
  webhook: "wh",
  webhookDelivery: "dlv",
  webhookEvent: "evt",
  workspace: "ws"
} as const

export type IdKind = keyof typeof prefixes

/** An identifier out of a ULID: in lower case, behind the prefix of its kind. */
export const idOf = <B extends string>(kind: IdKind, ulid: string): B =>
  `${prefixes[kind]}_${ulid.toLowerCase()}` as B

const id = text(1, 100)

export const AgentId = id.pipe(Schema.brand("AgentId"))
export type AgentId = typeof AgentId.Type
export const ApprovalId = id.pipe(Schema.brand("ApprovalId"))
export type ApprovalId = typeof ApprovalId.Type
export const AuditEntryId = id.pipe(Schema.brand("AuditEntryId"))
export type AuditEntryId = typeof AuditEntryId.Type
export const CronJobId = id.pipe(Schema.brand("CronJobId"))
export type CronJobId = typeof CronJobId.Type
export const ConnectorId = id.pipe(Schema.brand("ConnectorId"))
export type ConnectorId = typeof ConnectorId.Type
export const ConversationId = id.pipe(Schema.brand("ConversationId"))
export type ConversationId = typeof ConversationId.Type
export const MemoryEntryId = id.pipe(Schema.brand("MemoryEntryId"))
export type MemoryEntryId = typeof MemoryEntryId.Type
export const MessageId = id.pipe(Schema.brand("MessageId"))
export type MessageId = typeof MessageId.Type
export const ProjectId = id.pipe(Schema.brand("ProjectId"))
export type ProjectId = typeof ProjectId.Type
export const ProviderKeyId = id.pipe(Schema.brand("ProviderKeyId"))
export type ProviderKeyId = typeof ProviderKeyId.Type
export const RunId = id.pipe(Schema.brand("RunId"))
export type RunId = typeof RunId.Type
export const TokenId = id.pipe(Schema.brand("TokenId"))
export type TokenId = typeof TokenId.Type
export const UserId = id.pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type
export const WebhookId = id.pipe(Schema.brand("WebhookId"))
export type WebhookId = typeof WebhookId.Type
export const WebhookDeliveryId = id.pipe(Schema.brand("WebhookDeliveryId"))
export type WebhookDeliveryId = typeof WebhookDeliveryId.Type
export const WebhookEventId = id.pipe(Schema.brand("WebhookEventId"))
export type WebhookEventId = typeof WebhookEventId.Type
export const WorkspaceId = id.pipe(Schema.brand("WorkspaceId"))
export type WorkspaceId = typeof WorkspaceId.Type
