import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AutonomyLevel } from "../Schemas/Autonomy.ts"
import type { AgentId, ConversationId, RunId, WorkspaceId } from "../Schemas/Ids.ts"
import { shortOf } from "../Schemas/Shown.ts"
import { attend, requireCompleted } from "./Client/Attend.ts"
import { ClientError, type Connection, connect, said } from "./Client/Connection.ts"
import { knownOf } from "./Client/Follow.ts"
import * as Keyboard from "./Client/Keyboard.ts"
import * as Screen from "./Client/Screen.ts"
import { webhook } from "./Client/Webhook.ts"
import { writeStdout } from "./Output.ts"

/** The commands that speak to a running service, as any client does: by its public API, with a token. */

const url = Flag.String("url").pipe(
  Flag.withDescription(
    "Address of the service (AGENTD_URL, else that of the data folder); the token is AGENTD_TOKEN's"
  ),
  Flag.optional
)

const workspace = Flag.String("workspace").pipe(
  Flag.withDescription("Id of the workspace (the only one of the token)"),
  Flag.optional
)

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print one JSON object a line: each event, and the run at the end"),
  Flag.withDefault(false)
)

const autonomy = Flag.Literals("autonomy", AutonomyLevel.literals).pipe(
  Flag.withDescription(
    "What is done without asking (what the policy of the agent says, else semi-autonomous)"
  ),
  Flag.optional
)

/** For questions about approvals: not where a program reads, or nobody sits there. */
const answers = (isJson: boolean) =>
  !isJson && Keyboard.isThere() ? Keyboard.lines : Effect.succeed(undefined)

/** An agent by its id, or by its name where one has it. */
const findAgent = Effect.fnUntraced(function* (
  { baseUrl, client }: Connection,
  workspaceId: WorkspaceId,
  named: Option.Option<string>
) {
  if (Option.isNone(named)) return undefined
  const name = named.value
  if (name.startsWith("agent_")) {
    return (yield* said(baseUrl, client.agents.get({ params: { id: name as AgentId } }))).data.id
  }
  const { data } = yield* said(baseUrl, client.agents.list({ query: { workspaceId } }))
  const found = data.filter((agent) => agent.name === name)
  const [agent, ...others] = found
  if (agent === undefined)
    return yield* new ClientError({ error: `there is no agent called ${shortOf(name)}` })
  if (others.length === 0) return agent.id
  return yield* new ClientError({
    error: `${found.length} agents are called ${shortOf(name)}: ${found.map(({ id }) => id).join(", ")}`
  })
})

const tail = Command.make(
  "tail",
  {
    run: Argument.String("run").pipe(Argument.withDescription("Id of a run or of a chat turn")),
    after: Flag.Int("after").pipe(
      Flag.withDescription("Begin behind the event with this number (0: with the first)"),
      Flag.filter(
        (after) => after >= 0,
        () => "a whole number from 0"
      ),
      Flag.withDefault(0)
    ),
    url,
    json
  },
  Effect.fn(function* ({ after, json, run, url }) {
    const connection = yield* connect({ url })
    const lines = yield* answers(json)
    const id = run as RunId
    const status = yield* attend(connection, Screen.make(json), { run: () => id, after, lines })
    if (status !== undefined) yield* requireCompleted(status)
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Follow a run or a chat turn until it is over. Exit code 0: it COMPLETED, 1: it did not, 3: it waits for approval"
  )
)

const run = Command.make(
  "run",
  {
    prompt: Argument.String("prompt").pipe(
      Argument.withDescription("What to do; - reads it from standard input")
    ),
    agent: Flag.String("agent").pipe(Flag.withDescription("Id or name of an agent"), Flag.optional),
    wait: Flag.Boolean("wait").pipe(
      Flag.withDescription("Follow it until it is over, as tail does"),
      Flag.withDefault(false)
    ),
    autonomy,
    workspace,
    url,
    json
  },
  Effect.fn(function* ({ agent, autonomy, json, prompt, url, wait, workspace }) {
    const connection = yield* connect({ url, workspace })
    const { baseUrl, client } = connection
    const text = prompt === "-" ? yield* Keyboard.all : prompt
    if (text === undefined)
      return yield* new ClientError({ error: "standard input is longer than a prompt may be" })
    const workspaceId = yield* connection.workspace
    const agentId = yield* findAgent(connection, workspaceId, agent)
    const level = Option.getOrUndefined(autonomy)
    const made = yield* said(
      baseUrl,
      client.tasks.create({
        payload: {
          workspaceId,
          prompt: text,
          ...(agentId !== undefined && { agentId }),
          ...(level !== undefined && { autonomyLevel: level })
        }
      })
    )
    const { id } = made.data
    if (!wait) return yield* writeStdout(json ? JSON.stringify(made.data) : id)
    const lines = prompt === "-" ? undefined : yield* answers(json)
    const status = yield* attend(connection, Screen.make(json), { run: () => id, after: 0, lines })
    if (status !== undefined) yield* requireCompleted(status)
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Send a task to the running service and print the id of its run, or with --wait its answer. Ctrl-C leaves the run alone"
  )
)

/** One message and its answer; the conversation that goes on. */
const exchange = Effect.fnUntraced(function* (
  connection: Connection,
  screen: Screen.Screen,
  message: {
    readonly workspaceId: WorkspaceId
    readonly content: string
    readonly agentId?: AgentId
    readonly conversationId?: ConversationId
    readonly autonomyLevel?: AutonomyLevel
  },
  lines: Keyboard.Lines | undefined
) {
  const { baseUrl, client } = connection
  const { body } = yield* said(baseUrl, client.chat.send({ payload: message }))
  let turnId: RunId | undefined
  let conversationId = message.conversationId
  const status = yield* attend(connection, screen, {
    run: () => turnId,
    after: 0,
    first: body,
    lines,
    heard: (told) => {
      const known = knownOf(told)
      if (known?.event !== "conversation") return
      turnId = known.data.turnId
      conversationId = known.data.conversationId
    }
  })
  return { conversationId, status }
})

const chat = Command.make(
  "chat",
  {
    agent: Argument.String("agent").pipe(
      Argument.withDescription("Id or name of an agent"),
      Argument.optional
    ),
    autonomy,
    workspace,
    url,
    json
  },
  Effect.fn(function* ({ agent, autonomy, json, url, workspace }) {
    const connection = yield* connect({ url, workspace })
    const workspaceId = yield* connection.workspace
    const agentId = yield* findAgent(connection, workspaceId, agent)
    const autonomyLevel = Option.getOrUndefined(autonomy)
    const read = yield* Keyboard.lines
    const isAsked = !json && Keyboard.isThere()
    const screen = Screen.make(json)
    let conversationId: ConversationId | undefined
    while (true) {
      if (isAsked) yield* screen.prompt("> ")
      const content = yield* read
      if (content === undefined) break
      if (content.trim() === "") continue
      const message = {
        workspaceId,
        content,
        ...(agentId !== undefined && { agentId }),
        ...(conversationId !== undefined && { conversationId }),
        ...(autonomyLevel !== undefined && { autonomyLevel })
      }
      const answered = yield* exchange(connection, screen, message, isAsked ? read : undefined)
      conversationId = answered.conversationId
      // What follows would find the conversation busy, or answer something else.
      if (!isAsked && answered.status !== undefined) yield* requireCompleted(answered.status)
    }
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Talk to an agent of the running service, one line a message. Ctrl-C during an answer leaves, and the answer goes on"
  )
)

export const commands = [tail, chat, run, webhook] as const
