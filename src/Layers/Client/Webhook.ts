import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { ClientError } from "./Connection.ts"
import { listen } from "./Listen.ts"

const given = () => {
  const secret = process.env.AGENTD_WEBHOOK_SECRET?.trim()
  return secret === undefined || secret === "" ? undefined : Redacted.make(secret)
}

const listening = Command.make(
  "listen",
  {
    port: Flag.Int("port").pipe(
      Flag.withDescription("Port of 127.0.0.1 to listen on; 0 picks a free one"),
      Flag.filter(
        (port) => port >= 0 && port <= 65_535,
        () => "a port from 0 to 65535"
      ),
      Flag.withDefault(3001)
    ),
    secret: Flag.Redacted("secret").pipe(
      Flag.withDescription(
        "Secret of the webhook, whsec_… (AGENTD_WEBHOOK_SECRET, which no list of processes shows)"
      ),
      Flag.optional
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print one JSON object a line: each request, and whether it is verified"),
      Flag.withDefault(false)
    )
  },
  Effect.fn(function* ({ json, port, secret }) {
    const own = Option.getOrUndefined(secret) ?? given()
    if (own === undefined) {
      return yield* new ClientError({
        error:
          "which secret? Make a webhook for this address (POST /api/webhooks), and set AGENTD_WEBHOOK_SECRET to the secret that is answered"
      })
    }
    yield* listen({ port, secret: own, isJson: json })
  })
).pipe(
  Command.withDescription(
    "Receive webhooks on this machine: print each, and answer 401 to what is not signed with the secret"
  )
)

export const webhook = Command.make("webhook").pipe(
  Command.withDescription("Webhooks, where they are received"),
  Command.withSubcommands([listening])
)
