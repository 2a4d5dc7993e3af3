import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AlreadyExists } from "../../../Schemas/Errors.ts"
import { emailOfGone, User, UserRecord } from "../../../Schemas/User.ts"
import { UserRepo } from "../../../Services/UserRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { count, firstRow, returnedRow, rows } from "./Rows.ts"

const user = firstRow(User)
const columns = makeColumns(User, {})
const record = firstRow(UserRecord)
const records = rows(UserRecord)
const recordColumns = makeColumns(UserRecord, {})

export const layer = Layer.effect(
  UserRepo,
  Effect.gen(function* () {
    const { change, list, lookUp, query, sql } = yield* Database
    const selected = columns.read()
    const shown = recordColumns.read()
    return UserRepo.of({
      insert: (given) =>
        query(
          sql`insert into users ${sql.insert(columns.row(given))}`.pipe(
            Effect.catchReason("SqlError", "UniqueViolation", () =>
              Effect.fail(new AlreadyExists({ error: "email: a user with this e-mail exists" }))
            ),
            Effect.asVoid
          )
        ),
      find: (id) => lookUp(user(sql`select ${selected} from users where id = ${id} and deleted_at is null`)),
      findByEmail: (email) =>
        query(user(sql`select ${selected} from users where email = ${email} and deleted_at is null`)),
      page: ({ after, limit }) =>
        list(
          records(sql`
            select ${shown} from users where id > ${after ?? ""} and deleted_at is null
            order by id limit ${limit}`)
        ),
      setDisabled: (id, at) =>
        change((audit) =>
          record(
            audit.with(sql`
            update users set disabled_at = case when ${at}::timestamptz is null then null
              else coalesce(disabled_at, ${at}) end
            where id = ${id} and deleted_at is null returning ${shown}`)
          )
        ),
      remove: (id, at) =>
        change((audit) =>
          returnedRow(
            audit.with(sql`
            update users set email = ${emailOfGone(id)}, disabled_at = coalesce(disabled_at, ${at}),
              deleted_at = ${at}
            where id = ${id} and deleted_at is null returning id`)
          )
        ),
      count: query(count(sql`select count(*)::int as count from users`))
    })
  })
)
