import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Snapshots } from "../../../Services/Snapshots.ts"

/** There is one version of everything. */
export const layer = Layer.succeed(Snapshots, Snapshots.of({ oldestSeconds: Effect.succeed(0) }))
