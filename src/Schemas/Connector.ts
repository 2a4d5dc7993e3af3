import * as Schema from "effect/Schema"
import { registryEntry } from "./ConnectorRegistry.ts"
import { hasSealed } from "./ConnectorSecrets.ts"
import { ConnectorId, ProjectId, WorkspaceId } from "./Ids.ts"
import { mostLevels } from "./JsonLimits.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

/** CONTRACT.md section 4. Only ACTIVE ones count to the plan's limit. */
export const ConnectorStatus = Schema.Literals(["ACTIVE", "ERROR", "INACTIVE"])
export type ConnectorStatus = typeof ConnectorStatus.Type

const maximumScopes = 100
const metadataBytes = 16_384
/** The body that it comes in is one level more. */
const metadataDepth = mostLevels - 1

const type = text(1, 100)
const providerId = text(1, 100)
const providerName = text(1, 100)

const grantedScopes = Schema.Array(text(1, 500)).check(
  Schema.makeFilter(
    (scopes: ReadonlyArray<string>) =>
      scopes.length <= maximumScopes ? undefined : `must be at most ${maximumScopes} scopes`,
    { toJsonSchema: () => ({ maxItems: maximumScopes }) }
  )
)

/** A secret of an outside provider: one string, or several by name. */
export const ConnectorCredential = Schema.Union([
  Schema.NonEmptyString,
  Schema.Record(Schema.String, Schema.String)
])
export type ConnectorCredential = typeof ConnectorCredential.Type

/** Free-form, up to 16 KiB as JSON. What is secret in it is sealed, and none of it is ever returned. */
export const ConnectorMetadata = Schema.JsonObject.check(
  Schema.makeFilter((value: Schema.JsonObject) => metadataProblem(value))
)
export type ConnectorMetadata = typeof ConnectorMetadata.Type

/** Why metadata can't be kept, or undefined. */
export const metadataProblem = (value: Schema.JsonObject): string | undefined => {
  if (depthOf(value, metadataDepth) > metadataDepth) return `must be nested at most ${metadataDepth} deep`
  const json = JSON.stringify(value)
  if (new TextEncoder().encode(json).length > metadataBytes) return "must be at most 16 KiB as JSON"
  if (/(?<!\\)(\\\\)*\\u0000/.test(json)) return "must not contain NUL characters"
  if (/(?<!\\)(\\\\)*\\ud[89a-f]/i.test(json)) return "must be well-formed Unicode"
  return "credential" in value && !isCredential(value.credential)
    ? "credential must be a string or an object of strings"
    : undefined
}

const isCredential = Schema.is(ConnectorCredential)

/** How deep a value is nested; counting stops beyond `limit`. */
const depthOf = (value: Schema.Json, limit: number): number => {
  if (typeof value !== "object" || value === null) return 0
  if (limit < 0) return 1
  let deepest = 0
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, limit - 1))
  return 1 + deepest
}

export const Connector = Schema.Struct({
  id: ConnectorId,
  workspaceId: WorkspaceId,
  projectId: Schema.NullOr(ProjectId),
  type: Schema.NullOr(Schema.String),
  providerId: Schema.NullOr(Schema.String),
  providerName: Schema.NullOr(Schema.String),
  status: ConnectorStatus,
  grantedScopes: Schema.Array(Schema.String),
  hasCredential: Schema.Boolean,
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "Connector" })
export type Connector = typeof Connector.Type

/** What people know a connector by. */
export const ConnectorReference = Schema.Struct({ id: ConnectorId, name: Schema.String })
export type ConnectorReference = typeof ConnectorReference.Type

export const nameOfConnector = (connector: Pick<Connector, "providerId" | "providerName" | "type">): string =>
  connector.providerName ?? connector.providerId ?? connector.type ?? "connector"

/** Specification, POST /api/connectors; at least one of `type` and `providerId` (CONTRACT.md section 4). */
export const CreateConnector = Schema.Struct({
  workspaceId: WorkspaceId,
  projectId: Schema.optionalKey(Schema.NullOr(ProjectId)),
  type: Schema.optionalKey(Schema.NullOr(type)),
  providerId: Schema.optionalKey(Schema.NullOr(providerId)),
  providerName: Schema.optionalKey(Schema.NullOr(providerName)),
  grantedScopes: Schema.optionalKey(grantedScopes),
  metadata: Schema.optionalKey(ConnectorMetadata)
})
  .check(
    Schema.makeFilter((input: { readonly type?: string | null; readonly providerId?: string | null }) =>
      (input.type ?? input.providerId) == null
        ? { path: ["providerId"], issue: "is required, or type" }
        : undefined
    )
  )
  .annotate({ identifier: "CreateConnector" })
export type CreateConnector = typeof CreateConnector.Type

export const UpdateConnector = Schema.Struct({
  providerName: Schema.optionalKey(providerName),
  status: Schema.optionalKey(Schema.Literals(["ACTIVE", "INACTIVE"])),
  grantedScopes: Schema.optionalKey(grantedScopes),
  metadata: Schema.optionalKey(ConnectorMetadata)
}).annotate({ identifier: "UpdateConnector" })
export type UpdateConnector = typeof UpdateConnector.Type

/** A connector as it is stored: what is secret in its metadata is sealed (`ConnectorSecrets.ts`). */
export const StoredConnector = Schema.Struct({
  ...Connector.fields,
  metadata: Schema.JsonObject,
  sealedCredential: Schema.NullOr(Schema.String)
})
export type StoredConnector = typeof StoredConnector.Type

/** An ACTIVE connector that is to be stored; what is not given is what is known of its provider. */
export const newConnector = (
  input: CreateConnector,
  given: Pick<StoredConnector, "id" | "metadata" | "sealedCredential"> & { readonly at: Date }
): StoredConnector => {
  const providerId = input.providerId ?? null
  const known = registryEntry(providerId)
  return {
    id: given.id,
    workspaceId: input.workspaceId,
    projectId: input.projectId ?? null,
    type: input.type ?? null,
    providerId,
    providerName: input.providerName ?? known?.name ?? null,
    status: "ACTIVE",
    grantedScopes: input.grantedScopes ?? known?.defaultScopes ?? [],
    hasCredential: hasSealed(given),
    metadata: given.metadata,
    sealedCredential: given.sealedCredential,
    createdAt: given.at,
    updatedAt: given.at
  }
}

export const toConnector = ({
  metadata: _,
  sealedCredential: __,
  ...connector
}: StoredConnector): Connector => connector

/** 403: one more active connector than the plan allows. */
export class PlanLimitExceeded extends Schema.TaggedError<PlanLimitExceeded>()("PlanLimitExceeded", {
  error: Schema.String
}) {}
