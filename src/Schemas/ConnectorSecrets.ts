import type * as Schema from "effect/Schema"
import { isOpaque } from "./ToolBinding.ts"

/** Where the sealed part of metadata is at rest; what users call so is sealed with it. */
export const sealedField = "agentd:sealed"

/** The row that the sealed part is bound to, so that it can't be taken for a credential. */
export const metadataRow = (id: string): string => `${id}/metadata`

/** Words that say of a value that it is a secret, wherever they are in its name. */
const secretWords: ReadonlySet<string> = new Set([
  "auth",
  "authorization",
  "bearer",
  "cookie",
  "credential",
  "jwt",
  "key",
  "pass",
  "passcode",
  "passphrase",
  "passwd",
  "password",
  "pat",
  "pwd",
  "secret",
  "sid",
  "sig",
  "signature",
  "token"
])

/** The same, run together with the word before: `accesstoken`, `x-apikey`. */
const secretEnding =
  /(?:token|secret|password|passwd|(?:access|account|api|auth|client|master|private|secret|shared|signing)key)$/u

/** What is about a secret and is none, by the last word of its name. */
const aboutSecrets: ReadonlySet<string> = new Set([
  "algorithm",
  "at",
  "count",
  "endpoint",
  "expires",
  "format",
  "header",
  "in",
  "length",
  "limit",
  "method",
  "name",
  "prefix",
  "scope",
  "type",
  "uri",
  "url"
])

const longestName = 200

const isSecretWord = (word: string): boolean => secretWords.has(word) || secretEnding.test(word)

/** Whether a value by this name is a secret: `apiKey`, `X-Api-Key`, `client_secret`, but not `tokenLimit`. */
export const isSecretName = (name: string): boolean => {
  const words = name
    .slice(-longestName)
    .replace(/([a-z\d])([A-Z])/gu, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .map((word) => (word.length > 3 ? word.replace(/s$/u, "") : word))
    .filter((word) => word !== "")
  const last = words.at(-1)
  if (last === undefined || (words.length > 1 && aboutSecrets.has(last))) return false
  // A key is one where it is named as one, and not where something of it is: an id, a size.
  return words.some((word) => (word === "key" ? word === last : isSecretWord(word)))
}

/** Whether an address holds a secret: a user name, parts that look like a key, or a parameter that is named as one. */
const isSecretAddress = (text: string): boolean => {
  const url = /^[a-z][a-z\d+.-]*:\/\//iu.test(text) ? URL.parse(text) : null
  if (url === null) return false
  if (url.username !== "" || url.password !== "") return true
  if (url.hostname.split(".").some(isOpaque) || url.pathname.split("/").some(isOpaque)) return true
  const fragment = url.hash.slice(1)
  return (
    secretsOfQuery(url.searchParams).length > 0 ||
    fragment.split(/[/&?]/u).some(isOpaque) ||
    secretsOfQuery(new URLSearchParams(fragment)).length > 0
  )
}

const secretsOfQuery = (query: URLSearchParams): ReadonlyArray<string> =>
  [...query].flatMap(([name, value]) => {
    if (value === "") return isOpaque(name) ? [name] : []
    return isSecretName(name) || isOpaque(value) ? [value] : []
  })

/** What of an address must not be said back: the secrets among its parameters and the parts that look like one. */
export const secretsOfAddress = (address: string): ReadonlyArray<string> => {
  const url = URL.parse(address)
  if (url === null) return []
  return [...url.hostname.split("."), ...url.pathname.split("/")]
    .filter(isOpaque)
    .concat(secretsOfQuery(url.searchParams))
}

/** `Bearer …`, `--token=…`, `X-Api-Key: …`, a private key in PEM: texts that name their secret themselves. */
const isSecretText = (text: string): boolean => {
  if (/^(?:basic|bearer|token)\s+\S/iu.test(text) || /-----BEGIN [A-Z ]{0,30}PRIVATE KEY/u.test(text))
    return true
  const [, name] = /^-{0,2}([\w.-]{1,100})\s?[:=]\s?\S/u.exec(text) ?? []
  return name !== undefined && !text.startsWith(`${name}://`) && isSecretName(name)
}

const hasText = (value: Schema.Json): boolean => {
  if (typeof value === "string") return value !== ""
  return typeof value === "object" && value !== null && Object.values(value).some(hasText)
}

/** Whether something in a value is a secret: a text, by its name or by what it looks like, however deep. */
export const holdsSecret = (name: string, value: Schema.Json): boolean => {
  if (typeof value === "string" && (isSecretText(value) || isSecretAddress(value))) return true
  if (isSecretName(name) && hasText(value)) return true
  if (typeof value !== "object" || value === null) return false
  const entries = Object.entries(value)
  // A member of a list of names and values, as `{"name": "Authorization", "value": "…"}`.
  const named = entries.some(
    ([key, inner]) => /^(?:name|key|header)$/u.test(key) && typeof inner === "string" && isSecretName(inner)
  )
  if (named && entries.length > 1) return true
  return entries.some(([key, inner]) => holdsSecret(Array.isArray(value) ? "" : key, inner))
}

/**
 * The members of metadata that hold a secret, each as a whole, and the others; undefined where none does. Too many rather
 * than too few: nobody but the service reads them, and it opens what is sealed.
 */
export const splitMetadata = (
  metadata: Schema.JsonObject
): { readonly open: Schema.JsonObject; readonly secret: Schema.JsonObject | undefined } => {
  const entries = Object.entries(metadata)
  const isSecret = ([name, value]: (typeof entries)[number]) =>
    name === sealedField || holdsSecret(name, value as Schema.Json)
  const secret = entries.filter(isSecret)
  return {
    open: Object.fromEntries(entries.filter((entry) => !isSecret(entry))) as Schema.JsonObject,
    secret: secret.length === 0 ? undefined : (Object.fromEntries(secret) as Schema.JsonObject)
  }
}

/** Whether something of a connector is sealed, as `hasCredential` tells. */
export const hasSealed = (connector: {
  readonly metadata: Schema.JsonObject
  readonly sealedCredential: string | null
}): boolean =>
  connector.sealedCredential !== null ||
  connector.metadata.headers !== undefined ||
  connector.metadata[sealedField] !== undefined
