import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Timestamp } from "../../../Schemas/Timestamp.ts"
import { Token } from "../../../Schemas/Token.ts"
import { Email } from "../../../Schemas/User.ts"
import { TokenRepo } from "../../../Services/TokenRepo.ts"
import { Database } from "./Database.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const token = firstRow(Token)
const tokens = rows(Token)
const owned = firstRow(Schema.Struct({ ...Token.fields, email: Email, userCreatedAt: Timestamp }))

export const layer = Layer.effect(
  TokenRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const columns = sql.literal(`
      t.id, t.user_id as "userId", t.name, t.hash, t.created_at as "createdAt", t.expires_at as "expiresAt",
      t.revoked_at as "revokedAt"`)
    return TokenRepo.of({
      insert: ({ createdAt, expiresAt, hash, id, name, revokedAt, userId }) =>
        run(
          Effect.asVoid(sql`
            insert into tokens (id, user_id, name, hash, created_at, expires_at, revoked_at)
            values (${id}, ${userId}, ${name}, ${hash}, ${createdAt}, ${expiresAt}, ${revokedAt})`)
        ),
      findByHash: (hash) => run(token(sql`select ${columns} from tokens t where hash = ${hash}`)),
      findOwned: (hash) =>
        run(
          Effect.map(
            owned(sql`
              select ${columns}, u.email, u.created_at as "userCreatedAt"
              from tokens t join users u on u.id = t.user_id where hash = ${hash}`),
            Option.map(({ email, userCreatedAt, ...found }) => ({
              token: found,
              user: { id: found.userId, email, createdAt: userCreatedAt }
            }))
          )
        ),
      list: (userId, now) =>
        run(
          tokens(sql`
            select ${columns} from tokens t
            where user_id = ${userId} and revoked_at is null
              and (expires_at is null or expires_at > ${now})
            order by created_at, id`)
        ),
      revoke: (userId, id, at) =>
        run(
          returnedRow(sql`
            update tokens set revoked_at = coalesce(revoked_at, ${at})
            where id = ${id} and user_id = ${userId} returning id`)
        )
    })
  })
)
