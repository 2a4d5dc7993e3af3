import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Token } from "../../../Schemas/Token.ts"
import { TokenRepo } from "../../../Services/TokenRepo.ts"
import { Database } from "./Database.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const token = firstRow(Token)
const tokens = rows(Token)

export const layer = Layer.effect(
  TokenRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const columns = sql.literal(`
      id, user_id as "userId", name, hash, created_at as "createdAt", expires_at as "expiresAt",
      revoked_at as "revokedAt"`)
    return TokenRepo.of({
      insert: ({ createdAt, expiresAt, hash, id, name, revokedAt, userId }) =>
        run(
          Effect.asVoid(sql`
            insert into tokens (id, user_id, name, hash, created_at, expires_at, revoked_at)
            values (${id}, ${userId}, ${name}, ${hash}, ${createdAt}, ${expiresAt}, ${revokedAt})`)
        ),
      findByHash: (hash) => run(token(sql`select ${columns} from tokens where hash = ${hash}`)),
      list: (userId, now) =>
        run(
          tokens(sql`
            select ${columns} from tokens
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
