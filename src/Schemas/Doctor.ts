import * as Schema from "effect/Schema"
import { namesOf, type SecretsReport } from "./Secrets.ts"

/** What was looked at, whether it is as it should be, and what to do where it is not. */
export const Finding = Schema.Struct({
  check: Schema.String,
  status: Schema.Literals(["ok", "warn", "fail"]),
  found: Schema.String,
  remedy: Schema.NullOr(Schema.String)
})
export type Finding = typeof Finding.Type

export const ok = (check: string, found: string): Finding => ({ check, status: "ok", found, remedy: null })
export const warn = (check: string, found: string, remedy: string): Finding => ({
  check,
  status: "warn",
  found,
  remedy
})
export const fail = (check: string, found: string, remedy: string): Finding => ({
  check,
  status: "fail",
  found,
  remedy
})

/** The worst of all. */
export const statusOf = (findings: ReadonlyArray<Finding>): Finding["status"] =>
  (["fail", "warn"] as const).find((status) => findings.some((finding) => finding.status === status)) ?? "ok"

/** A database as it is, whoever asks, migrated or not. Nothing of it is secret. */
export const DatabaseFacts = Schema.Struct({
  isEmbedded: Schema.Boolean,
  /** As `server_version`: `15.18`. */
  version: Schema.String,
  major: Schema.Int,
  encoding: Schema.String,
  isWritable: Schema.Boolean,
  /** Whether migrations may make tables in the schema that is used. */
  canCreate: Schema.Boolean,
  /** Tables in that schema that belong to somebody else, which migrations can't change. */
  foreignTables: Schema.Int,
  /** Whether what is sent with NOTIFY comes to who listens. */
  listens: Schema.Boolean,
  /** The number of its last migration, null where there is none; and of the last that this agentd has. */
  schema: Schema.NullOr(Schema.Int),
  latestSchema: Schema.Int,
  /** How far its clock is ahead of that of this machine, to `clockError`. */
  clockMillis: Schema.Finite,
  clockError: Schema.Finite,
  /** Connections that agentd may have of the server, and those that are in use by all. */
  connections: Schema.Int,
  connectionsUsed: Schema.Int
})
export type DatabaseFacts = typeof DatabaseFacts.Type

const oldestMajor = 15
const clockLimitMillis = 1_000

const serverFindings = (facts: DatabaseFacts): ReadonlyArray<Finding> => [
  facts.major < oldestMajor
    ? fail("database", `PostgreSQL ${facts.version} is too old`, `use PostgreSQL ${oldestMajor} or newer`)
    : ok("database", `PostgreSQL ${facts.version}${facts.isEmbedded ? ", embedded" : ""}`),
  facts.encoding === "UTF8"
    ? ok("encoding", facts.encoding)
    : fail(
        "encoding",
        facts.encoding,
        "make the database anew: create database … template template0 encoding 'UTF8'"
      ),
  facts.isWritable
    ? ok("writable", "the database takes writes")
    : fail(
        "writable",
        "the database only reads",
        "use the primary instead of a standby, or turn default_transaction_read_only off"
      )
]

const rightsFinding = ({ canCreate, foreignTables }: DatabaseFacts): Finding => {
  if (!canCreate) {
    return fail(
      "rights",
      "the user of DATABASE_URL can't make tables",
      "make it the owner of the database, or grant create on its schema: migrations need it"
    )
  }
  return foreignTables === 0
    ? ok("rights", "migrations may make and change tables")
    : fail(
        "rights",
        `${foreignTables} tables belong to another user`,
        "make the user of DATABASE_URL their owner: migrations change them"
      )
}

const schemaFinding = ({ latestSchema, schema }: DatabaseFacts): Finding => {
  if (schema === null) return warn("schema", "the database is empty", "start agentd, or run `migrate`")
  if (schema === latestSchema) return ok("schema", `migration ${schema}, the latest`)
  return schema < latestSchema
    ? warn("schema", `migration ${schema} of ${latestSchema}`, "back up, then start agentd, or run `migrate`")
    : fail(
        "schema",
        `migration ${schema}, made by a newer agentd that has more than ${latestSchema}`,
        "run that one"
      )
}

/** Leases, cron and what is old are judged by the database; what tokens and time stamps say, by each node. */
const clockFinding = ({ clockError, clockMillis }: DatabaseFacts): Finding => {
  const seconds = (Math.abs(clockMillis) / 1000).toFixed(1)
  return Math.abs(clockMillis) - clockError <= clockLimitMillis
    ? ok("clock", "that of the database and that of this machine agree to a second")
    : warn(
        "clock",
        `that of the database is ${seconds} s ${clockMillis > 0 ? "ahead of" : "behind"} that of this machine`,
        "set both by NTP: leases and cron go by the one, the expiry of tokens and time stamps by the other"
      )
}

const connectionsFinding = ({ connections, connectionsUsed }: DatabaseFacts, pool: number): Finding => {
  // One more listens, and one more is there while a node starts.
  const needed = pool + 2
  const found = `${connections}, ${connectionsUsed} in use; a node takes up to ${needed}`
  return needed <= connections
    ? ok("connections", found)
    : fail("connections", found, "lower AGENTD_DATABASE_POOL, or raise max_connections of the server")
}

/** What a database says of itself, against what agentd needs with a pool of so many connections. */
export const findingsOfDatabase = (facts: DatabaseFacts, pool: number): ReadonlyArray<Finding> => [
  ...serverFindings(facts),
  ...(facts.isEmbedded
    ? []
    : [
        rightsFinding(facts),
        facts.listens
          ? ok("listen", "notifications arrive")
          : fail(
              "listen",
              "notifications don't arrive: nodes would find work late",
              "connect to the server itself, or to a pooler that pools sessions (not transactions)"
            ),
        connectionsFinding(facts, pool)
      ]),
  schemaFinding(facts),
  clockFinding(facts)
]

/** Which key seals: `place` is the variable or the file where it is. */
export const findingOfKey = (
  place: string,
  {
    isLost,
    isMade,
    isThere
  }: { readonly isLost: boolean; readonly isMade: boolean; readonly isThere: boolean }
): Finding => {
  if (isThere) return ok("sealing key", `in ${place}`)
  if (isLost) {
    return fail(
      "sealing key",
      `${place} is not there, and no other is made`,
      "put the one back that sealed what is stored"
    )
  }
  return isMade
    ? ok("sealing key", `the first start makes one in ${place}`)
    : warn(
        "sealing key",
        `${place} is not set: storing a secret is refused`,
        "set it to 32 bytes in base64 (openssl rand -base64 32), the same on every node, and keep it"
      )
}

export const findingOfSecrets = (report: SecretsReport): Finding => {
  const { current, former, plain, unreadable } = report
  const all = current + former + unreadable
  if (unreadable > 0) {
    return fail(
      "secrets",
      `${unreadable} of ${all} can't be opened: ${namesOf(report)}`,
      "put the key back that sealed them, or add it to AGENTD_SECRET_KEYS_OLD, or enter them again"
    )
  }
  if (plain > 0) {
    return warn(
      "secrets",
      `${plain} connectors hold secrets in their metadata that are not sealed`,
      "set AGENTD_SECRET_KEY where there is none: a start seals them, and so does `secrets reseal`"
    )
  }
  if (all === 0) return ok("secrets", "none stored")
  return former === 0
    ? ok("secrets", `${all} stored, all sealed with the present key`)
    : warn("secrets", `${former} of ${all} are sealed with a former key`, "run `secrets reseal`")
}

const mebibyte = 1024 * 1024
const [littleSpace, noSpace] = [1024 * mebibyte, 100 * mebibyte]

/** How much is free where the data folder is, or will be. */
export const findingOfSpace = (path: string, freeBytes: number): Finding => {
  const found = `${Math.floor(freeBytes / mebibyte)} MiB free in ${path}`
  if (freeBytes < noSpace) return fail("disk", found, "make room: the database can't write without")
  return freeBytes < littleSpace
    ? warn("disk", found, "make room, or set AGENTD_DATA_DIR")
    : ok("disk", found)
}

/** `needed` and `version` are like `22.19`. */
export const findingOfNode = (version: string, needed: readonly [number, number]): Finding => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major > needed[0] || (major === needed[0] && minor >= needed[1])
    ? ok("node", `Node.js ${version}`)
    : fail(
        "node",
        `Node.js ${version} is too old`,
        `use ${needed.join(".")} or newer; npm start brings one along`
      )
}
