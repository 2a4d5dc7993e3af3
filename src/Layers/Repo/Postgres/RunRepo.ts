import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { StoredRun } from "../../../Schemas/Run.ts"
import { TurnInput } from "../../../Schemas/TurnInput.ts"
import { RunRepo } from "../../../Services/RunRepo.ts"
import { Database } from "./Database.ts"
import { isReadable } from "./Removed.ts"
import { firstRow } from "./Rows.ts"
import { runColumns } from "./RunColumns.ts"
import * as Claims from "./RunRepo/Claims.ts"
import * as Due from "./RunRepo/Due.ts"
import * as Ends from "./RunRepo/Ends.ts"
import * as Insert from "./RunRepo/Insert.ts"
import * as Lists from "./RunRepo/Lists.ts"
import * as Losses from "./RunRepo/Losses.ts"
import * as Prune from "./RunRepo/Prune.ts"
import * as Retry from "./RunRepo/Retry.ts"
import * as Totals from "./RunRepo/Totals.ts"

const storedRun = firstRow(StoredRun)
const inputRow = firstRow(Schema.Struct({ input: TurnInput }))

export const layer = Layer.effect(
  RunRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { lookUp, query, sql } = database

    return RunRepo.of({
      ...(yield* Insert.make(database)),
      ...Claims.make(database),
      ...Losses.make(database),
      ...(yield* Ends.make(database)),
      ...Lists.make(database),
      ...Prune.make(database),
      ...Retry.make(database),
      ...Due.make(database),
      ...Totals.make(database),
      find: (id) =>
        lookUp(storedRun(sql`select ${runColumns} from runs where id = ${id} and ${isReadable(sql, id)}`)),
      input: (id) =>
        Effect.map(
          query(
            inputRow(
              sql`select input from runs where id = ${id} and input is not null and ${isReadable(sql, id)}`
            )
          ),
          Option.map(({ input }) => input)
        )
    })
  })
)
