import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TransferError } from "../../../Schemas/Transfer.ts"
import { Transfer } from "../../../Services/Transfer.ts"

const refused = Effect.fail(new TransferError({ error: "what is in memory alone can't be moved" }))

export const layer = Layer.succeed(Transfer, { write: () => refused, read: () => refused })
