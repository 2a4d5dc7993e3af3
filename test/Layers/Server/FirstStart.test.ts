import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { greeting, welcome } from "../../../src/Layers/Server/FirstStart.ts"
import { UserId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { Accounts } from "../../../src/Services/Accounts.ts"
import { Auth } from "../../../src/Services/Auth.ts"
import { UserRepo } from "../../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { layerAtRest } from "../../support/Service.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const path = Fs.mkdtempSync(Path.join(Os.tmpdir(), "agentd-test-first-"))
    return { path, file: Path.join(path, "credentials.json") }
  }),
  ({ path }) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)
const read = (file: string) => JSON.parse(Fs.readFileSync(file, "utf8"))
const baseUrl = "http://127.0.0.1:3000"

/** They are whole, and let their user in. */
const work = Effect.fnUntraced(function* (file: string) {
  const credentials = read(file)
  assert.deepStrictEqual(Object.keys(credentials), ["baseUrl", "userId", "workspaceId", "token"])
  const user = yield* (yield* Auth).authenticate(Redacted.make(credentials.token))
  assert.strictEqual(user.id, credentials.userId)
  const [workspace] = yield* (yield* WorkspaceRepo).list(user.id)
  assert.strictEqual(workspace?.id, credentials.workspaceId)
  assert.strictEqual(Fs.statSync(file).mode & 0o777, 0o600)
})

describe("the first start", () => {
  it("says what to paste, where the documentation is, and which model answers or why none does", () => {
    const [userId, workspaceId] = [UserId.make("user_1"), WorkspaceId.make("ws_1")]
    const credentials = { baseUrl, userId, workspaceId, token: "agentd_1" }
    const link = `${baseUrl}/#/sign-in/code`
    const said = (answering: Parameters<typeof greeting>[0]["answering"]) =>
      greeting({ path: "/data/credentials.json", credentials, link, answering })
    const offline = said({ provider: "offline", model: "offline", providerKeyId: null })
    assert.include(offline, "Your credentials are in /data/credentials.json.")
    assert.match(offline, /^ {2}curl -N .* 'Authorization: Bearer agentd_1'/m)
    assert.include(offline, `\nor open ${link} to sign in (works once, for an hour).\n`)
    assert.include(offline, `${baseUrl}/docs`)
    assert.match(offline, /offline provider answers.*OPENAI_API_KEY/s)
    const model = said({ provider: "anthropic", model: "claude", providerKeyId: null })
    assert.match(model, /^The model that answers: claude \(anthropic\)\./m)
    assert.notInclude(model, "offline")
    assert.match(said("selectedModel: is needed"), /^No model answers yet: selectedModel: is needed$/m)
  })

  it.effect("leaves credentials that work, and later ones keep their address true", () =>
    Effect.gen(function* () {
      const { file, path } = yield* folder
      yield* welcome(path, baseUrl)
      yield* work(file)
      const first = read(file)
      yield* welcome(path, "http://127.0.0.1:4000")
      assert.deepStrictEqual(read(file), { ...first, baseUrl: "http://127.0.0.1:4000" })
      assert.deepStrictEqual(Fs.readdirSync(path), ["credentials.json"])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("that was killed before its credentials were on disk leaves them to the next one", () =>
    Effect.gen(function* () {
      const { file, path } = yield* folder
      const accounts = yield* Accounts
      // Killed between the commit and the writing: what the start had put there before it began is all there is.
      const killed = Accounts.of({
        execute: (command) => Effect.andThen(accounts.execute(command), Effect.die("killed"))
      })
      yield* Effect.exit(Effect.provideService(welcome(path, baseUrl), Accounts, killed))
      assert.strictEqual(yield* (yield* UserRepo).count, 1)
      assert.isFalse(Fs.existsSync(file))
      yield* welcome(path, baseUrl)
      yield* work(file)
      assert.deepStrictEqual(Fs.readdirSync(path), ["credentials.json"])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("that was killed while it put them in their place does so too", () =>
    Effect.gen(function* () {
      const { file, path } = yield* folder
      yield* welcome(path, baseUrl)
      const first = read(file)
      Fs.renameSync(file, `${file}.new`)
      yield* welcome(path, baseUrl)
      assert.deepStrictEqual(read(file), first)
      assert.deepStrictEqual(Fs.readdirSync(path), ["credentials.json"])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("makes nothing again that its owner has taken away", () =>
    Effect.gen(function* () {
      const { file, path } = yield* folder
      yield* welcome(path, baseUrl)
      Fs.rmSync(file)
      yield* welcome(path, baseUrl)
      assert.deepStrictEqual(Fs.readdirSync(path), [])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("does not write over credentials of something else", () =>
    Effect.gen(function* () {
      const { file, path } = yield* folder
      Fs.writeFileSync(file, '{"type":"service_account"}')
      const error = yield* Effect.flip(welcome(path, baseUrl))
      assert.deepInclude(error, { error: `${file} is not agentd's: move it away` })
      assert.strictEqual(Fs.readFileSync(file, "utf8"), '{"type":"service_account"}')
      assert.strictEqual(yield* (yield* UserRepo).count, 0)
    }).pipe(Effect.provide(layerAtRest()))
  )
})
