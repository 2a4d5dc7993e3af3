import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Timestamp } from "../../../Schemas/Timestamp.ts"
import { Token } from "../../../Schemas/Token.ts"
import { Email } from "../../../Schemas/User.ts"
import { TokenRepo } from "../../../Services/TokenRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const token = firstRow(Token)
const tokens = rows(Token)
const columns = makeColumns(Token, {})
const Owned = Schema.Struct({ ...Token.fields, email: Email, userCreatedAt: Timestamp })
const owned = firstRow(Owned)
const ownedColumns = makeColumns(Owned, {
  email: { read: "u.email" },
  userCreatedAt: { read: "u.created_at" }
})

export const layer = Layer.effect(
  TokenRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    const selected = columns.read("t")
    return TokenRepo.of({
      insert: (given) => query(Effect.asVoid(sql`insert into tokens ${sql.insert(columns.row(given))}`)),
      findByHash: (hash) => query(token(sql`select ${selected} from tokens t where hash = ${hash}`)),
      findOwned: (hash) =>
        query(
          Effect.map(
            owned(sql`
              select ${ownedColumns.read("t")}
              from tokens t join users u on u.id = t.user_id where hash = ${hash}`),
            Option.map(({ email, userCreatedAt, ...found }) => ({
              token: found,
              user: { id: found.userId, email, createdAt: userCreatedAt }
            }))
          )
        ),
      list: (userId, now) =>
        query(
          tokens(sql`
            select ${selected} from tokens t
            where user_id = ${userId} and revoked_at is null
              and (expires_at is null or expires_at > ${now})
            order by created_at, id`)
        ),
      revoke: (userId, id, at) =>
        query(
          returnedRow(sql`
            update tokens set revoked_at = coalesce(revoked_at, ${at})
            where id = ${id} and user_id = ${userId} returning id`)
        )
    })
  })
)
