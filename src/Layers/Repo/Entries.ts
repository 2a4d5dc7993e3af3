import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import { type NewAuditEntry, newAuditEntry } from "../../Schemas/Audit.ts"
import { type AuditEntryId, idOf } from "../../Schemas/Ids.ts"
import { type Audit, Audited, CurrentActor } from "../../Services/Audited.ts"
import { now } from "../../Services/CurrentTime.ts"
import { CurrentRequest } from "../../Services/RequestFacts.ts"

/** What is to be written with the change that is made now. */
export interface Entries {
  readonly entries: ReadonlyArray<NewAuditEntry>
  readonly isEach: boolean
}

/** Where one entry becomes one of each row, its id begins with that of the entry, up to the time in it. */
export const keptOfId = "audit_".length + 10
/** What follows: so much of the MD5, in hex, of the whole id with that of the row behind it. */
export const hashedOfId = 16

const nothing: Entries = { entries: [], isEach: false }

/** The entries of the audit log of the change that whoever asks for it makes (`Audited`). */
export const make = Effect.gen(function* () {
  const random = yield* SecureRandom.SecureRandom

  const entriesOf = Effect.fnUntraced(function* ({ changes, isEach }: Audit) {
    const acting = (yield* CurrentActor)?.actor ?? null
    const asked = yield* CurrentRequest
    const at = yield* now
    const entries: Array<NewAuditEntry> = []
    for (const change of changes) {
      const id = idOf<AuditEntryId>("auditEntry", yield* random.ulid)
      entries.push(newAuditEntry(change, { id, at, acting, asked }))
    }
    return { entries, isEach }
  })

  return Effect.flatMap(Audited, (audit) =>
    audit === undefined ? Effect.succeed(nothing) : entriesOf(audit)
  )
}).pipe(Effect.provide(SecureRandom.layerWebCrypto))
