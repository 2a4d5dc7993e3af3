import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { makeClient, runCommand, type Server, startServer } from "./Process.ts"
import { type Body, bodyOf, listen, serveTools, type ToolRequest } from "./ToolServer.ts"
import { until } from "./Until.ts"

/** One question to the mock model: the job and the number of tool results in it say which step it is. */
export interface ModelCall {
  readonly node: number
  readonly job: number
  readonly step: number
  readonly at: number
  answeredAt: number | null
  /** The words of a streamed answer, with when each was sent. */
  readonly words: Array<{ readonly word: string; readonly at: number }>
  /** When the connection was gone before the answer was whole. */
  brokenAt: number | null
}

export interface ToolUse {
  readonly tool: string
  readonly job: number
  readonly step: number
  readonly at: number
}

export const sleep = (millis: number) => new Promise<void>((done) => setTimeout(done, millis))

const wordMillis = 50

/**
 * A model that speaks as OpenAI does: for `job <n>` it calls the tool `count` in each of two answers and
 * says `done <n>` in the third. `job <n> write` calls `write` first, and the first answer of all to
 * `job <n> hang` never ends. To `job <n> stream <words>` it only
 * answers, in so many words, one every 50 ms, none of which it ever says again; to `job <n> count stream
 * <words>` (or `write`) it does so after one call of that tool. In a conversation the last message counts.
 * What is held is answered but for the end of its last answer, until it is let go: so the moment at which a
 * test finds it is not a matter of speed.
 */
export const startModel = async (delayMillis: number) => {
  const calls: Array<ModelCall> = []
  let held: { readonly has: (job: number) => boolean; readonly letGo: PromiseWithResolvers<void> } | undefined
  const freed = async (job: number) => {
    while (held?.has(job) === true) await held.letGo.promise
  }
  const { base, close } = await listen(async (request, response) => {
    const at = Date.now()
    const body = await bodyOf(request)
    const [, node] = /^\/node(\d+)\//.exec(request.url ?? "") ?? []
    const asked = body.messages.findLastIndex(({ role }: Body) => role === "user")
    const prompt = body.messages[asked].content
    const text = typeof prompt === "string" ? prompt : prompt.map((part: Body) => part.text).join("")
    const [, number, kind, length] = /job (\d+)(?: (count|write|hang))?(?: stream (\d+))?/.exec(text) ?? []
    const job = Number(number)
    const step = body.messages.slice(asked).filter(({ role }: Body) => role === "tool").length
    const call: ModelCall = {
      node: Number(node),
      job,
      step,
      at,
      answeredAt: null,
      words: [],
      brokenAt: null
    }
    const attempt = calls.filter((other) => other.job === job).length
    calls.push(call)
    response.once("close", () => {
      if (call.answeredAt === null) call.brokenAt = Date.now()
    })
    const send = (choices: ReadonlyArray<object>, more: object = {}) =>
      response.write(
        `data: ${JSON.stringify({
          id: `chatcmpl-${job}-${step}`,
          object: "chat.completion.chunk",
          created: 1,
          model: body.model,
          choices,
          ...more
        })}\n\n`
      )
    const delta = (given: object, finish_reason: string | null = null) =>
      send([{ index: 0, delta: given, finish_reason }])

    const toolSteps = length === undefined ? 2 : kind === undefined ? 0 : 1
    const callTool = () => {
      const wanted = kind === "write" && step === 0 ? "write" : "count"
      const tool = body.tools
        ?.map((given: Body) => given.function.name)
        .find((name: string) => name.endsWith(wanted))
      const called = { name: tool ?? wanted, arguments: JSON.stringify({ job, step }) }
      delta({
        tool_calls: [{ index: 0, id: `call_${job}_${step}`, type: "function", function: called }]
      })
      delta({}, "tool_calls")
    }
    const sayWords = async (count: number) => {
      for (let n = 0; n < count && call.brokenAt === null; n++) {
        const word = `${job}.${attempt}.${n} `
        call.words.push({ word, at: Date.now() })
        delta({ content: word })
        await sleep(wordMillis)
      }
    }

    response.writeHead(200, { "content-type": "text/event-stream" })
    if (step === toolSteps && length !== undefined) {
      await sayWords(Number(length))
      await freed(job)
      delta({}, "stop")
    } else {
      delta({ role: "assistant", content: step < toolSteps ? `working on ${step}` : "done" })
      if (kind === "hang" && attempt === 0) return
      await sleep(delayMillis)
      if (step < toolSteps) callTool()
      else {
        await freed(job)
        delta({ content: ` ${job}` })
        delta({}, "stop")
      }
    }
    send([], { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })
    call.answeredAt = Date.now()
    response.end("data: [DONE]\n\n")
  })
  return {
    calls,
    /** Holds the last answers to these jobs, those under way as well. */
    hold: (has: (job: number) => boolean = () => true) => {
      held = { has, letGo: Promise.withResolvers() }
    },
    /** Lets go what is held, and holds nothing more. */
    release: () => {
      const letGo = held?.letGo
      held = undefined
      letGo?.resolve()
    },
    close,
    env: (node: number) => ({
      OPENAI_API_KEY: "sk-mock",
      OPENAI_BASE_URL: `${base}/node${node}/v1`,
      AGENTD_DEFAULT_MODEL: "mock"
    })
  }
}

const toolList = [
  { name: "count", annotations: { readOnlyHint: true } },
  { name: "write", annotations: { readOnlyHint: false, destructiveHint: true } }
].map((tool) => ({
  ...tool,
  description: `does ${tool.name}`,
  inputSchema: {
    type: "object",
    properties: { job: { type: "integer" }, step: { type: "integer" } },
    required: ["job", "step"]
  }
}))

/** An MCP server with the tools `count` (read-only) and `write`, which remembers their calls. */
export const startTools = async (delayMillis: number) => {
  const uses: Array<ToolUse> = []
  const call = async ({ params }: ToolRequest) => {
    uses.push({ tool: params.name, ...params.arguments, at: Date.now() })
    await sleep(delayMillis)
    return `${params.name} ok`
  }
  return { ...(await serveTools({ tools: toolList, call })), uses }
}

/** What has reached this process is read in one of these turns, however late they come. */
const readAll = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((done) => setImmediate(done))
}

/** When a node was killed: it died somewhere in between, by the clock of this machine. */
export interface Kill {
  readonly node: number
  readonly from: number
  readonly to: number
}

/** Nodes over one database that ask the mock model, each by an address of its own. */
export const makeNodes = (
  url: string,
  env: (node: number) => Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {}
) => {
  const servers = new Map<number, Server>()
  const kills: Array<Kill> = []
  const server = (node: number) => {
    const found = servers.get(node)
    if (found === undefined) throw new Error(`node ${node} does not run`)
    return found
  }
  return {
    kills,
    server,
    start: async (node: number) => {
      const settings = { DATABASE_URL: url, AGENTD_ALLOW_PRIVATE_ADDRESSES: "true", ...env(node), ...more }
      servers.set(node, await startServer(settings))
    },
    /** Kills it without a word. */
    kill: async (node: number) => {
      const from = Date.now()
      await server(node).stop("SIGKILL")
      await readAll()
      kills.push({ node, from, to: Date.now() })
    },
    stopAll: () => Promise.all(Array.from(servers.values(), (running) => running.stop("SIGKILL")))
  }
}

export type Nodes = ReturnType<typeof makeNodes>
export type Client = ReturnType<typeof makeClient>

/** The first user of the database; with the connector of these tools, through any node. */
export const makeAccount = async (url: string, nodes: Nodes, tools?: string) => {
  const made = await runCommand({ DATABASE_URL: url }, "bootstrap", "--json")
  const { token, workspaceId }: { token: string; workspaceId: string } = JSON.parse(made.stdout)
  const client = (node: number) => makeClient(nodes.server(node).baseUrl, token)
  if (tools !== undefined) {
    const connector = { workspaceId, type: "mcp", providerName: "mock", metadata: { url: tools } }
    const { status } = await client(0).request("POST", "/api/connectors", connector)
    if (status !== 201) throw new Error(`no connector: ${status}`)
  }
  const submit = async (node: number, prompt: string, autonomyLevel = "autonomous"): Promise<string> => {
    const answer = await client(node).request("POST", "/api/tasks", { workspaceId, prompt, autonomyLevel })
    const { data }: { data: { id: string } } = (await answer.json()) as never
    if (answer.status !== 201) throw new Error(`POST /api/tasks: ${answer.status}`)
    return data.id
  }
  return { client, submit, token, workspaceId }
}

/** Runs work on the database at `url` over one connection, made for it. */
export const onDatabase = <A, E>(
  url: string,
  work: (sql: PgClient.PgClient) => Effect.Effect<A, E>
): Promise<A> =>
  Effect.runPromise(
    Effect.flatMap(PgClient.PgClient, work).pipe(
      Effect.provide(
        PgClient.layer({ url: Redacted.make(url), maxConnections: 1, connectTimeout: "3 minutes" }),
        { local: true }
      )
    )
  )

/** How many runs there are of each status. */
export const statusCounts = async (url: string): Promise<Readonly<Record<string, number>>> => {
  const rows = await onDatabase(
    url,
    (sql) => sql<{ status: string; count: number }>`
      select status, count(*)::int as count from runs group by status order by status`
  )
  return Object.fromEntries(rows.map(({ count, status }) => [status, count]))
}

/** Waits until no run is under way, and answers how long that took. */
export const untilIdle = (url: string, limitMillis?: number) =>
  until(
    async () => {
      const counts = await statusCounts(url)
      const busy = (counts.PENDING ?? 0) + (counts.RUNNING ?? 0)
      if (busy > 0) await sleep(50)
      return busy === 0
    },
    "no run under way",
    limitMillis
  )
