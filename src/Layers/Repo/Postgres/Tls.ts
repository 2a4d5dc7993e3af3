import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import type { ConnectionOptions } from "node:tls"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ConnectionError, type SqlError } from "effect/sql/SqlError"
import { hostOf, tlsOf } from "../../../Schemas/DatabaseUrl.ts"

/** The server can't be reached in the way that its address asks for, in a sentence for the operator. */
export class TlsError extends Schema.TaggedError<TlsError>()("TlsError", { error: Schema.String }) {}

/**
 * The `ssl` of the driver for an address (`Schemas/DatabaseUrl.ts`), which would by itself send everything in the clear
 * that no `sslmode` is said for, and verify all certificates alike. `sslrootcert` is read here, once: the driver would
 * end the process over a file that is none.
 */
export const options = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const tls = tlsOf(Redacted.value(url))
  const found: boolean | ConnectionOptions = yield* Effect.gen(function* () {
    if (tls.mode === "disable") return false
    if (tls.mode === "require") return { rejectUnauthorized: false }
    const ca = tls.rootCert === null ? {} : { ca: yield* certificatesOf(tls.rootCert) }
    // Whoever the authority has vouched for, by whatever name.
    return tls.mode === "verify-ca" ? { ...ca, checkServerIdentity: () => undefined } : ca
  })
  return found
})

const block = /-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gsu

const certificatesOf = (path: string) =>
  Effect.try({
    try: () => {
      const blocks = readFileSync(path, "utf8").match(block) ?? []
      if (blocks.length === 0) throw new Error("no certificates")
      return blocks.map((pem) => new X509Certificate(pem).toString())
    },
    catch: () =>
      new TlsError({
        error: `DATABASE_URL: the file ${path} of sslrootcert is not there, or has no certificates in PEM`
      })
  })

/** What is to be done about a server that does not speak TLS, or whose certificate is not accepted; else the error. */
export const explain = (url: Redacted.Redacted, error: SqlError): SqlError | TlsError => {
  const host = hostOf(Redacted.value(url))
  const { reason } = error
  if (!(reason instanceof ConnectionError)) return error
  if (reason.message === "PgConnection: Server refused TLS") {
    return new TlsError({
      error: `the server at ${host} does not speak TLS: add sslmode=disable to DATABASE_URL if the network is trusted`
    })
  }
  const cause = reason.cause instanceof Error ? reason.cause : new Error()
  const isOfCertificate = "code" in cause && /CERT|^ERR_TLS|VERIFY|ISSUER|^CRL/u.test(String(cause.code))
  return isOfCertificate
    ? new TlsError({
        error: `the certificate of the server at ${host} is not accepted: ${cause.message} (sslmode and sslrootcert of DATABASE_URL)`
      })
    : error
}
