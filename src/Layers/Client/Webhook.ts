import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { WebhookId } from "../../Schemas/Ids.ts"
import { writeStderr } from "../Output.ts"
import { type Connection, connect, said } from "./Connection.ts"
import { listen } from "./Listen.ts"

const url = Flag.String("url").pipe(
  Flag.withDescription("Address of the service (AGENTD_URL, else that of the data folder)"),
  Flag.optional
)

const workspace = Flag.String("workspace").pipe(
  Flag.withDescription("Id of the workspace that is listened to (the only one of the token)"),
  Flag.optional
)

const given = () => {
  const secret = process.env.AGENTD_WEBHOOK_SECRET?.trim()
  return secret === undefined || secret === "" ? undefined : Redacted.make(secret)
}

/** A webhook of this service for as long as somebody listens; it is told of everything. */
const passing = Effect.fnUntraced(function* (
  options: { readonly url: Option.Option<string>; readonly workspace: Option.Option<string> },
  address: string
) {
  const connection = yield* connect(options)
  const { baseUrl, client } = connection
  const workspaceId = yield* connection.workspace
  const payload = { workspaceId, url: address, events: ["*"], description: "agentd webhook listen" } as const
  const { id, secret } = yield* Effect.acquireRelease(
    Effect.map(said(baseUrl, client.webhooks.create({ payload })), ({ data }) => data),
    ({ id }) =>
      said(baseUrl, client.webhooks.remove({ params: { id } })).pipe(
        Effect.timeout("5 seconds"),
        Effect.catch(() => writeStderr(`agentd: the webhook ${id} is still there: delete it`))
      )
  )
  yield* writeStderr(`agentd: ${baseUrl} has the webhook ${id} for this, which is deleted at the end`)
  yield* Effect.forkScoped(Effect.ignore(tested(connection, id)))
  return Redacted.make(secret)
})

const looks = 10

/** Has it sent a test: where that does not arrive, nobody would see why nothing does. */
const tested = Effect.fnUntraced(function* ({ client }: Connection, id: WebhookId) {
  const params = { id }
  yield* client.webhooks.test({ params })
  for (let look = 0; look < looks; look++) {
    yield* Effect.sleep("1 second")
    const { data } = yield* client.webhooks.deliveries({ params, query: { limit: 1 } })
    const attempt = data[0]?.lastAttempt
    if (attempt == null) continue
    return yield* attempt.error === null
      ? Effect.void
      : writeStderr(`agentd: a test was sent and did not arrive: ${attempt.error}`)
  }
})

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
        "Secret of a webhook that is there, whsec_… (AGENTD_WEBHOOK_SECRET); without one is made and deleted at the end"
      ),
      Flag.optional
    ),
    workspace,
    url,
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print one JSON object a line: each request, and whether it is verified"),
      Flag.withDefault(false)
    )
  },
  Effect.fn(function* ({ json, port, secret, url, workspace }) {
    const own = Option.getOrUndefined(secret) ?? given()
    const secretOf = (address: string) =>
      own === undefined ? passing({ url, workspace }, address) : Effect.succeed(own)
    yield* listen({ port, secret: secretOf, isJson: json })
  })
).pipe(
  Command.withDescription(
    "Receive webhooks on this machine: print each, and answer 401 to what is not signed with the secret. Without a secret the service that runs is asked for a webhook as long as this lasts, by a token of an owner"
  )
)

export const webhook = Command.make("webhook").pipe(
  Command.withDescription("Webhooks, where they are received"),
  Command.withSubcommands([listening])
)
