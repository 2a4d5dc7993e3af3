import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AlreadyExists } from "../../../Schemas/Errors.ts"
import { User } from "../../../Schemas/User.ts"
import { UserRepo } from "../../../Services/UserRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { count, firstRow } from "./Rows.ts"

const user = firstRow(User)
const columns = makeColumns(User, {})

export const layer = Layer.effect(
  UserRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    const selected = columns.read()
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
      find: (id) => query(user(sql`select ${selected} from users where id = ${id}`)),
      findByEmail: (email) => query(user(sql`select ${selected} from users where email = ${email}`)),
      count: query(count(sql`select count(*)::int as count from users`))
    })
  })
)
