import * as Schema from "effect/Schema"
import { metadataRow } from "./ConnectorSecrets.ts"
import { headersRow } from "./ConnectorServer.ts"

/**
 * Where secrets are stored: the API key of a provider key; the credential, the headers and what else is secret in the
 * metadata of a connector; the secret of a webhook, and the one before it.
 */
export const places = [
  "apiKey",
  "credential",
  "headers",
  "metadata",
  "webhookSecret",
  "previousWebhookSecret"
] as const
export type Place = (typeof places)[number]

/** A secret as it is stored, in the row with this id. */
export const SealedText = Schema.Struct({ id: Schema.String, sealed: Schema.String })
export type SealedText = typeof SealedText.Type

/** The row that a secret is bound to where it is sealed. */
export const boundTo = (place: Place, id: string): string =>
  place === "headers" ? headersRow(id) : place === "metadata" ? metadataRow(id) : id

/** Metadata of a connector as it is stored, as JSON. */
export const StoredMetadata = Schema.Struct({ id: Schema.String, metadata: Schema.String })
export type StoredMetadata = typeof StoredMetadata.Type

/** How many ids a report names. */
export const mostUnreadable = 20

/** What was found of the stored secrets, and done. `unreadable`: no key that is given opens them. */
export const SecretsReport = Schema.Struct({
  resealed: Schema.Int,
  current: Schema.Int,
  former: Schema.Int,
  unreadable: Schema.Int,
  /** Of provider keys, connectors and webhooks, up to 20. */
  unreadableIds: Schema.Array(Schema.String),
  /** How many connectors hold secrets that are not sealed, as former versions have stored them. */
  plain: Schema.Int
})
export type SecretsReport = typeof SecretsReport.Type

export const emptyReport: SecretsReport = {
  resealed: 0,
  current: 0,
  former: 0,
  unreadable: 0,
  unreadableIds: [],
  plain: 0
}

/** Whose secrets no key opens, for people. */
export const namesOf = ({ unreadableIds }: SecretsReport): string =>
  `${unreadableIds.join(", ")}${unreadableIds.length < mostUnreadable ? "" : " and maybe more"}`

/** With one secret more that no key opens. */
export const withUnreadable = (report: SecretsReport, id: string): SecretsReport => ({
  ...report,
  unreadable: report.unreadable + 1,
  unreadableIds:
    report.unreadableIds.includes(id) || report.unreadableIds.length >= mostUnreadable
      ? report.unreadableIds
      : [...report.unreadableIds, id]
})

/** Why secrets could not be resealed, in a sentence for the operator. */
export class SecretsError extends Schema.TaggedError<SecretsError>()("SecretsError", {
  error: Schema.String
}) {}
