import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { writeStderr } from "./Output.ts"
import * as Embedded from "./Repo/Postgres/Embedded.ts"
import * as Migrations from "./Repo/Postgres/Migrations.ts"
import * as Remote from "./Repo/Postgres/Remote.ts"
import { database } from "./Settings.ts"

const layerEmbedded = (dataDir: string) =>
  Embedded.layer(
    {
      dataDir,
      onFirstStart: writeStderr(`agentd: making a database in ${dataDir}; this takes a few seconds`)
    },
    Migrations.migrate
  )

type Chosen = typeof database extends Config.Config<infer A> ? A : never

const layerOf = (chosenBy: (chosen: Chosen) => Chosen) =>
  Layer.unwrap(
    Effect.map(database, (given) => {
      const { dataDir, direct, read, url } = chosenBy(given)
      type Database = ReturnType<typeof Remote.layer> | ReturnType<typeof layerEmbedded>
      const chosen: Database = Option.isSome(url)
        ? Remote.layer({
            url: url.value,
            read: Option.getOrUndefined(read),
            direct: Option.getOrUndefined(direct)
          })
        : layerEmbedded(dataDir)
      return chosen as Layer.Layer<Layer.Success<Database>, Layer.Error<Database>, Layer.Services<Database>>
    })
  )

/** A migrated database: PostgreSQL at `DATABASE_URL`, or the embedded one (CONTRACT.md section 1). */
export const layer = layerOf((given) => given)

/** The same for a command: past a pooler, and never a replica. */
export const layerOfCommands = layerOf((given) => ({
  ...given,
  url: Option.map(given.url, (url) => Option.getOrElse(given.direct, () => url)),
  direct: Option.none(),
  read: Option.none()
}))

/** The same database as it is, which is not migrated; the embedded one has to be there. */
export const layerAsItIs = Layer.unwrap(
  Effect.map(database, ({ dataDir, direct, url }) => {
    type Found = ReturnType<typeof Remote.layerAsItIs> | ReturnType<typeof Embedded.layerAsItIs>
    const chosen: Found = Option.isSome(url)
      ? Remote.layerAsItIs({ url: url.value, direct: Option.getOrUndefined(direct) })
      : Embedded.layerAsItIs(dataDir)
    return chosen as Layer.Layer<Layer.Success<Found>, Layer.Error<Found>, Layer.Services<Found>>
  })
)
