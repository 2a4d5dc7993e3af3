import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type { DatabaseFacts } from "../../../Schemas/Doctor.ts"
import { now } from "../../../Services/CurrentTime.ts"
import { DatabaseReport, DatabaseSilent } from "../../../Services/DatabaseReport.ts"
import { Database } from "./Database.ts"
import { latest } from "./Migrations.ts"
import { onlyRow } from "./Rows.ts"
import * as Tls from "./Tls.ts"

const channel = "agentd_doctor"
const notifyTimeout = "5 seconds"

const said = onlyRow(
  Schema.Struct({
    version: Schema.String,
    major: Schema.Int,
    encoding: Schema.String,
    writable: Schema.Boolean,
    creates: Schema.Boolean,
    foreign: Schema.Int,
    migrated: Schema.Boolean,
    connections: Schema.Int,
    used: Schema.Int
  })
)
const moment = onlyRow(Schema.Struct({ at: Schema.Finite }))
const migration = onlyRow(Schema.Struct({ schema: Schema.NullOr(Schema.Int) }))

export const layer = Layer.effect(
  DatabaseReport,
  Effect.map(Database, ({ sql }) => {
    const isEmbedded = sql.config.stream !== undefined

    const server = said(sql`
      select current_setting('server_version') as version,
        current_setting('server_version_num')::int / 10000 as major,
        current_setting('server_encoding') as encoding,
        not current_setting('transaction_read_only')::boolean as writable,
        coalesce(has_schema_privilege(current_schema(), 'create'), false) as creates,
        (select count(*)::int from pg_class
          where relnamespace = current_schema()::regnamespace and relkind = 'r'
            and not pg_has_role(relowner, 'usage')) as foreign,
        to_regclass('agentd_migrations') is not null as migrated,
        current_setting('max_connections')::int
          - current_setting('superuser_reserved_connections')::int as connections,
        (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used`)

    /** Twice, since the first answer may have waited for a connection. */
    const clock = Effect.gen(function* () {
      const ask = Effect.gen(function* () {
        const before = (yield* now).getTime()
        const { at } = yield* moment(sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as at`)
        const after = (yield* now).getTime()
        return {
          clockMillis: Math.round(at - (before + after) / 2),
          clockError: Math.ceil((after - before) / 2)
        }
      })
      yield* ask
      return yield* ask
    })

    const listens = Effect.gen(function* () {
      const connection = yield* PgConnection.make({ ...sql.config, applicationName: "agentd doctor" })
      const session = yield* connection.pin
      const notifications = yield* session.listen(channel)
      yield* sql.notify(channel, "")
      return Option.isSome(yield* Effect.timeoutOption(Queue.take(notifications), notifyTimeout))
    }).pipe(
      Effect.scoped,
      Effect.orElseSucceed(() => false)
    )

    const facts = Effect.gen(function* () {
      const { connections, creates, encoding, foreign, major, migrated, used, version, writable } =
        yield* server
      const schema = migrated
        ? (yield* migration(sql`select max(migration_id) as schema from agentd_migrations`)).schema
        : null
      const found: DatabaseFacts = {
        isEmbedded,
        version,
        major,
        encoding,
        isWritable: writable,
        canCreate: creates,
        foreignTables: foreign,
        listens: isEmbedded || (yield* listens),
        schema,
        latestSchema: latest,
        ...(yield* clock),
        connections,
        connectionsUsed: used
      }
      return found
    })
    const { url } = sql.config
    return DatabaseReport.of({
      facts: facts.pipe(
        Effect.catchTag("SqlError", (error) =>
          Effect.fail(url === undefined ? error : Tls.explain(url, error))
        ),
        Effect.mapError((cause) => new DatabaseSilent({ cause }))
      )
    })
  })
)
