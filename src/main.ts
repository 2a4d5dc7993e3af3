import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Application from "./Layers/Application.ts"
import * as Console from "./Layers/Console.ts"
import * as Database from "./Layers/Database.ts"
import * as Environment from "./Layers/Environment.ts"
import * as ProcessMetrics from "./Layers/ProcessMetrics.ts"
import * as Repo from "./Layers/Repo.ts"
import { runMain } from "./Layers/Runtime.ts"
import * as Scheduler from "./Layers/Scheduler.ts"
import * as SecretBox from "./Layers/SecretBox.ts"
import * as Server from "./Layers/Server.ts"
import * as Settings from "./Layers/Settings.ts"
import * as Telemetry from "./Layers/Telemetry.ts"
import * as Engine from "./Services/Engine.ts"
import * as PlainSecrets from "./Services/PlainSecrets.ts"
import * as WebhookSender from "./Services/WebhookSender.ts"

/** The service as `npm start` runs it, from the network down to the database. */
export const layer = Server.layer.pipe(
  Layer.provide([
    Console.layer,
    Engine.layerTasks,
    PlainSecrets.layer,
    ProcessMetrics.layer,
    Scheduler.layer,
    Telemetry.layerMetrics,
    WebhookSender.layer
  ]),
  Layer.provide(Application.layer),
  Layer.provide(SecretBox.layer),
  Layer.provide(Repo.layerPostgres),
  Layer.provide(Database.layer),
  Layer.provide(Telemetry.layer),
  Layer.provide(Settings.layer)
)

export const start = (): void =>
  runMain(Layer.launch(layer).pipe(Effect.provide(Environment.layer(process.env))), { isService: true })

if (import.meta.main) start()
