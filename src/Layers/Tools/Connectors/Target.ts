import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ConnectorCredential, type StoredConnector } from "../../../Schemas/Connector.ts"
import { hasSealed, metadataRow, sealedField } from "../../../Schemas/ConnectorSecrets.ts"
import { type ConnectorTarget, headersRow, targetOf } from "../../../Schemas/ConnectorServer.ts"
import { AuditNotes } from "../../../Services/AuditNotes.ts"
import { SecretBox } from "../../../Services/SecretBox.ts"

type Decode<A> = (text: string) => Effect.Effect<A, Schema.SchemaError>

const decodeHeaders = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Json))

const decodeMembers = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.JsonObject))

const decodeCredential = Schema.decodeUnknownEffect(Schema.fromJsonString(ConnectorCredential))

/** Where the server of a connector is and how to sign in to it: what is sealed of that is opened. */
export const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const notes = yield* AuditNotes

  const openedTarget = Effect.fnUntraced(function* (connector: StoredConnector) {
    const { id, metadata, sealedCredential } = connector
    const { headers, [sealedField]: sealed } = metadata
    const open = <A>(field: string, row: string, sealed: string, decode: Decode<A>) =>
      box.open(row, sealed).pipe(
        Effect.flatMap((opened) => decode(Redacted.value(opened))),
        Effect.tap(hasSealed(connector) ? notes.opened(connector) : Effect.void),
        // Not the error itself: it may show a part of the secret.
        Effect.mapError(() => `${field}: can't be opened`)
      )
    const opened = {
      ...metadata,
      ...(typeof sealed === "string" && (yield* open("metadata", metadataRow(id), sealed, decodeMembers))),
      ...(typeof headers === "string" && {
        headers: yield* open("metadata.headers", headersRow(id), headers, decodeHeaders)
      })
    }
    return targetOf(
      { ...connector, metadata: opened },
      sealedCredential === null
        ? undefined
        : yield* open("metadata.credential", id, sealedCredential, decodeCredential)
    )
  })

  return (connector: StoredConnector) =>
    Effect.match(openedTarget(connector), {
      onSuccess: (found) => found,
      onFailure: (error): ConnectorTarget => ({
        kind: "unusable",
        error: { code: "secret_unreadable", message: error }
      })
    })
})
