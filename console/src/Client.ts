import { signal } from "@preact/signals"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import { Agents } from "../../src/Api/Agents.ts"
import { Approvals } from "../../src/Api/Approvals.ts"
import { Audit } from "../../src/Api/Audit.ts"
import { Chat } from "../../src/Api/Chat.ts"
import { Connectors } from "../../src/Api/Connectors.ts"
import { CronJobs } from "../../src/Api/CronJobs.ts"
import { Memory } from "../../src/Api/Memory.ts"
import { Projects } from "../../src/Api/Projects.ts"
import { ProviderKeys } from "../../src/Api/ProviderKeys.ts"
import { Runs } from "../../src/Api/Runs.ts"
import { Session } from "../../src/Api/Session.ts"
import { Tasks } from "../../src/Api/Tasks.ts"
import { Tokens } from "../../src/Api/Tokens.ts"
import { Usage } from "../../src/Api/Usage.ts"
import { Webhooks } from "../../src/Api/Webhooks.ts"
import { Workspaces } from "../../src/Api/Workspaces.ts"

/** The contract without the protocols of others, which the console does not speak. */
const Api = HttpApi.make("agentd")
  .add(Agents)
  .add(CronJobs)
  .add(Connectors)
  .add(Tasks)
  .add(Runs)
  .add(Approvals)
  .add(Audit)
  .add(Chat)
  .add(Memory)
  .add(Workspaces)
  .add(Projects)
  .add(ProviderKeys)
  .add(Tokens)
  .add(Usage)
  .add(Webhooks)
  .add(Session)
  .annotate(HttpApi.SuccessParseOptions, { disableChecks: true })
  // What is sent is judged by the service alone, whose sentence is the one that people read.
  .annotate(HttpApi.PayloadParseOptions, { disableChecks: true })

/** The headers of one request: the token that a session is begun with, and the key of a request that may be sent again. */
const Headers = Context.Reference<Readonly<Record<string, string>>>("agentd/console/Headers", {
  defaultValue: () => ({})
})

const withHeaders = HttpClient.mapRequestEffect((request: HttpClientRequest.HttpClientRequest) =>
  Effect.map(Headers, (headers) => HttpClientRequest.setHeaders(request, headers))
)

export type Client = HttpApiClient.ForApi<typeof Api>

const httpClient = HttpClient.HttpClient.pipe(
  Effect.map(withHeaders),
  Effect.provide(FetchHttpClient.layer),
  Effect.runSync
)
const groups = new Map<PropertyKey, unknown>()

/** The service, as its contract has it: by group and endpoint. A group is made when it is first asked for something. */
export const client = new Proxy({} as Client, {
  get: (_, name: keyof Client) => {
    const known = groups.get(name)
    if (known !== undefined) return known
    const group = Effect.runSync(
      HttpApiClient.group(Api, { group: name, httpClient, baseUrl: location.origin })
    )
    groups.set(name, group)
    return group
  }
})

/** Why a request has no answer, in the sentence that a person reads. */
export class Problem extends Error {
  /** `Offline`, `Unexpected`, or what the contract calls it, such as `NotFound`. */
  readonly tag: string
  constructor(tag: string, message: string) {
    super(message)
    this.tag = tag
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null

/** Whether something before the service answered, since that can't be reached. */
const isOfGateway = ({ response }: Readonly<Record<string, unknown>>): boolean =>
  isRecord(response) && [502, 503, 504].some((status) => status === response.status)

/** What went wrong, of anything that was thrown or that an effect failed with. */
export const toProblem = (error: unknown): Problem => {
  if (error instanceof Problem) return error
  if (isRecord(error) && typeof error.error === "string" && typeof error._tag === "string") {
    return new Problem(error._tag, error.error)
  }
  const reason = isRecord(error) && isRecord(error.reason) ? error.reason : {}
  return reason._tag === "TransportError" || isOfGateway(reason)
    ? new Problem("Offline", "agentd can't be reached.")
    : new Problem(
        "Unexpected",
        "agentd gave an answer that the console does not understand. A reload may help."
      )
}

interface Options {
  readonly signal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** How often somebody has signed in since the page was loaded: what was refused before is asked for again. */
export const signIns = signal(0)

let onUnauthenticated = () => {}

/** What happens when the service does not know who asks (any more). */
export const whenUnauthenticated = (act: () => void) => {
  onUnauthenticated = act
}

/** Tells that the service does not know who asks. */
export const unauthenticated = () => onUnauthenticated()

/** Runs what is asked of the service. Rejects with a `Problem`; once aborted, with one that nobody is told. */
export const run = async <A, E>(effect: Effect.Effect<A, E>, options: Options = {}): Promise<A> => {
  const exit = await Effect.runPromiseExit(
    Effect.provideService(effect, Headers, options.headers ?? {}),
    options.signal === undefined ? {} : { signal: options.signal }
  )
  if (Exit.isSuccess(exit)) return exit.value
  const problem = toProblem(Cause.squash(exit.cause))
  if (problem.tag === "Unauthenticated" && options.headers?.authorization === undefined) onUnauthenticated()
  throw problem
}

/** Asks the service: `call((client) => client.runs.get({ params: { id } }))`. */
export const call = <A, E>(
  use: (client: Client) => Effect.Effect<A, E>,
  signal?: AbortSignal,
  headers: Readonly<Record<string, string>> = {}
): Promise<A> => run(use(client), { signal, headers })

/** A name that nothing else has. `crypto.randomUUID` is there over https and on one's own machine alone. */
export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    ""
  )

/** A key with which a request that is sent again is done once (CONTRACT.md section 9): one for each thing to be done. */
export const newKey = (): Readonly<Record<string, string>> => ({ "idempotency-key": newId() })
