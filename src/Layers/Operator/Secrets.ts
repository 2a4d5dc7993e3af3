import * as Effect from "effect/Effect"
import type { SecretsReport } from "../../Schemas/Secrets.ts"
import { Secrets } from "../../Services/Secrets.ts"
import { reach } from "./Reach.ts"

const resealHere = (newKey: boolean) => Effect.flatMap(Secrets, (secrets) => secrets.reseal(newKey))

/**
 * Reseals what is stored, by the keys of the server where one has the embedded database open, and by those of this
 * process otherwise. However many there are: it is not bounded in time.
 */
export const reseal = Effect.fn("Operator.reseal")(
  <E, R>(
    newKey: boolean,
    opened: (work: ReturnType<typeof resealHere>) => Effect.Effect<SecretsReport, E, R>
  ) =>
    reach({
      here: opened(resealHere(newKey)),
      throughServer: (client) => client.secrets.reseal({ payload: { newKey } })
    })
)
