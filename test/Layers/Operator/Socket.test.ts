import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { reach } from "../../../src/Layers/Operator/Reach.ts"
import * as Socket from "../../../src/Layers/Operator/Socket.ts"
import { sentenceOf } from "../../../src/Layers/Runtime.ts"
import { Accounts } from "../../../src/Services/Accounts.ts"
import { DatabaseReport, DatabaseSilent } from "../../../src/Services/DatabaseReport.ts"
import { Secrets } from "../../../src/Services/Secrets.ts"
import { Transfer } from "../../../src/Services/Transfer.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "agentd-test-socket-"))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

describe("a command through the socket of the server", () => {
  it.live("is told why the database is silent as one that asks it itself", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const cause = new Error("Failed to execute statement", { cause: new Error("the disk is full") })
      const silent = new DatabaseSilent({ cause })
      yield* Layer.build(
        Socket.layer(dataDir).pipe(
          Layer.provide([
            Layer.mock(Accounts, {}),
            Layer.succeed(DatabaseReport, { facts: silent }),
            Layer.mock(Secrets, {}),
            Layer.mock(Transfer, {})
          ])
        )
      )
      const failure = yield* reach({
        here: Effect.die("the server is there"),
        throughServer: (client) => client.doctor.look()
      }).pipe(
        Effect.flip,
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { AGENTD_DATA_DIR: dataDir } })))
      )
      assert.strictEqual(sentenceOf(silent), "the disk is full")
      assert.strictEqual(sentenceOf(failure), sentenceOf(silent))
    })
  )
})
