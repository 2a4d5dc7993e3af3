import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AccountError, Credentials } from "../../Schemas/Account.ts"
import type { AnsweringModel } from "../../Schemas/AnsweringModel.ts"
import { modelChoice } from "../../Schemas/ModelChoice.ts"
import { Email } from "../../Schemas/User.ts"
import { Accounts } from "../../Services/Accounts.ts"
import { Inference } from "../../Services/Inference.ts"
import { UserRepo } from "../../Services/UserRepo.ts"
import { WorkspaceRepo } from "../../Services/WorkspaceRepo.ts"
import { writeStdout } from "../Output.ts"

const fileName = "credentials.json"
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Credentials))

const email = "owner@localhost"

/**
 * On an empty embedded database: one user, workspace and token, kept in `credentials.json` (0600), a line to paste,
 * where the documentation is, and which model answers. Later starts only keep the `baseUrl` in that file true. One that was killed in between has left a
 * beginning of the file, at which the next start makes another token. What is no file of ours is not written over.
 */
export const welcome = Effect.fnUntraced(function* (dataDir: string, baseUrl: string) {
  const accounts = yield* Accounts
  const users = yield* UserRepo
  const path = join(dataDir, fileName)
  if ((yield* users.count) === 0) {
    if (contentOf(path) !== "" && Option.isNone(read(path))) {
      return yield* new AccountError({ error: `${path} is not agentd's: move it away` })
    }
    rmSync(path, { force: true })
    begin(path)
    const made = yield* accounts.execute({ command: "bootstrap", email, baseUrl })
    if ("baseUrl" in made) yield* tell(path, made)
    return
  }
  const known = Option.orElse(read(path), () => (existsSync(path) ? Option.none() : read(begunOf(path))))
  if (Option.isSome(known)) {
    if (known.value.baseUrl !== baseUrl || !existsSync(path)) write(path, { ...known.value, baseUrl })
  } else if (!existsSync(path) && existsSync(begunOf(path))) {
    const made = yield* anotherToken
    if (made !== undefined) return yield* tell(path, { baseUrl, ...made })
  }
  rmSync(begunOf(path), { force: true })
})

/** For the user of the first start, whose own token nobody has seen. */
const anotherToken = Effect.gen(function* () {
  const owner = yield* (yield* UserRepo).findByEmail(Email.make(email))
  const [workspace] = Option.isSome(owner) ? yield* (yield* WorkspaceRepo).list(owner.value.id) : []
  if (workspace === undefined) return undefined
  const made = yield* (yield* Accounts).execute({ command: "token create", email, expiresInDays: null })
  if (!("token" in made)) return undefined
  return { userId: made.userId, workspaceId: workspace.id, token: made.token }
})

/** The link is on standard output and nowhere else: the file of credentials is read by programs. */
const tell = Effect.fnUntraced(function* (path: string, credentials: Credentials) {
  write(path, credentials)
  const { baseUrl } = credentials
  const made = yield* (yield* Accounts).execute({ command: "sign-in link", email, baseUrl })
  const choice = modelChoice(credentials.workspaceId, null, {})
  const model = yield* Effect.result((yield* Inference).model(choice))
  const answering = Result.isSuccess(model) ? model.success.answeredBy : model.failure.error
  yield* writeStdout(greeting({ path, credentials, answering, link: "url" in made ? made.url : baseUrl }))
})

/**
 * What to paste, what to open, where the documentation is, and which model answers where nobody names one, or why none
 * can.
 */
export const greeting = ({
  answering,
  credentials,
  link,
  path
}: {
  readonly path: string
  readonly credentials: Credentials
  readonly link: string
  readonly answering: AnsweringModel | string
}): string =>
  `
Your credentials are in ${path}. Try:

  ${curlLine(credentials)}

or open ${link} to sign in (works once, for an hour).

Every endpoint, to read and to try: ${credentials.baseUrl}/docs
${modelLine(answering)}
`

const modelLine = (answering: AnsweringModel | string): string => {
  if (typeof answering === "string") return `No model answers yet: ${answering}`
  const { model, provider } = answering
  return provider === "offline"
    ? "The built-in offline provider answers: it is no model and says so. For a model set OPENAI_API_KEY,\n" +
        "ANTHROPIC_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY (or OPENAI_BASE_URL and AGENTD_DEFAULT_MODEL, for Ollama\n" +
        "and the like) and start again."
    : `The model that answers: ${model} (${provider}). AGENTD_DEFAULT_PROVIDER and AGENTD_DEFAULT_MODEL set another.`
}

/** A line that can be pasted into a shell as it is. */
export const curlLine = ({ baseUrl, token, workspaceId }: Credentials): string =>
  `curl -N ${baseUrl}/api/chat/messages -H 'Authorization: Bearer ${token}' ` +
  `-H 'Content-Type: application/json' ` +
  `-d '${JSON.stringify({ workspaceId, content: 'Hello!\ncall current_time {"timezone":"Europe/Berlin"}' })}'`

const contentOf = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8").trim() : "")

const read = (path: string): Option.Option<Credentials> => decode(contentOf(path))

const begunOf = (path: string): string => `${path}.new`

const begin = (path: string): void => writeFileSync(begunOf(path), "", { mode: 0o600, flush: true })

const write = (path: string, credentials: Credentials): void => {
  writeFileSync(begunOf(path), `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(begunOf(path), path)
}
