import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { monotonicMillis } from "../../../Services/CurrentTime.ts"
import { Snapshots } from "../../../Services/Snapshots.ts"
import { Database } from "./Database.ts"
import { rows } from "./Rows.ts"

const Holder = Schema.Struct({
  /** Who holds which: another one of the same holder is another snapshot. */
  holder: Schema.String,
  /** Null where the server does not know. */
  seconds: Schema.NullOr(Schema.Finite)
})
const holders = rows(Holder)

export const layer = Layer.effect(
  Snapshots,
  Effect.map(Database, ({ query, sql }) => {
    // Of sessions of others a role without pg_read_all_stats sees what they hold, and not since when.
    const statement = sql`
      select format('session %s %s', pid, backend_xmin) as holder,
        extract(epoch from clock_timestamp() - coalesce(xact_start, query_start))::float8 as seconds
      from pg_stat_activity
      where backend_xmin is not null and pid <> pg_backend_pid()
        and (datname = current_database() or datname is null)
      union all
      select format('prepared %s', gid), extract(epoch from clock_timestamp() - prepared)::float8
      from pg_prepared_xacts where database = current_database()
      union all
      select format('slot %s %s', slot_name, xmin), null
      from pg_replication_slots where xmin is not null`
    let seen = new Map<string, number>()
    return Snapshots.of({
      oldestSeconds: Effect.gen(function* () {
        const found = yield* query(holders(statement))
        const at = yield* monotonicMillis
        seen = new Map(found.map(({ holder }) => [holder, seen.get(holder) ?? at]))
        const ages = found.map(({ holder, seconds }) => seconds ?? (at - (seen.get(holder) ?? at)) / 1000)
        return Math.max(0, ...ages)
      })
    })
  })
)
