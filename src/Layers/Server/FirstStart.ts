import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Credentials } from "../../Schemas/Account.ts"
import { Accounts } from "../../Services/Accounts.ts"
import { UserRepo } from "../../Services/UserRepo.ts"
import { writeStdout } from "../Output.ts"

const fileName = "credentials.json"
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Credentials))

/**
 * On an empty embedded database: one user, workspace and token, kept in `credentials.json` (0600), and a
 * line to paste. Later starts only keep the `baseUrl` in that file true.
 */
export const welcome = Effect.fn("FirstStart.welcome")(function* (dataDir: string, baseUrl: string) {
  const accounts = yield* Accounts
  const users = yield* UserRepo
  const path = join(dataDir, fileName)
  if ((yield* users.count) > 0) {
    const known = read(path)
    if (Option.isSome(known) && known.value.baseUrl !== baseUrl) write(path, { ...known.value, baseUrl })
    return
  }
  const made = yield* accounts.execute({ command: "bootstrap", email: "owner@localhost", baseUrl })
  if (!("baseUrl" in made)) return
  write(path, made)
  yield* writeStdout(`\nYour credentials are in ${path}. Try:\n\n  ${curlLine(made)}\n`)
})

/** A line that can be pasted into a shell as it is. */
export const curlLine = ({ baseUrl, token, workspaceId }: Credentials): string =>
  `curl -N ${baseUrl}/api/chat/messages -H 'Authorization: Bearer ${token}' ` +
  `-H 'Content-Type: application/json' ` +
  `-d '${JSON.stringify({ workspaceId, content: 'Hello!\ncall current_time {"timezone":"Europe/Berlin"}' })}'`

const read = (path: string): Option.Option<Credentials> =>
  existsSync(path) ? decode(readFileSync(path, "utf8")) : Option.none()

const write = (path: string, credentials: Credentials): void => {
  writeFileSync(`${path}.new`, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
