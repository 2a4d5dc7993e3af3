import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Auth from "../../../src/Layers/Auth.ts"
import type { AccountCommand } from "../../../src/Schemas/Account.ts"
import type { WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { Accounts } from "../../../src/Services/Accounts.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { UserRepo } from "../../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { at, makeUser, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes } from "./RunNodes.ts"

const execute = (command: AccountCommand) =>
  Effect.flatMap(Accounts, (accounts) => accounts.execute(command)).pipe(
    Effect.provide(Accounts.layer.pipe(Layer.provide(Auth.layer)), { local: true })
  )

/** What commands are told that found a user who is deleted before they are done. */
const suite = () => {
  it.live.each<readonly [string, (email: string, workspace: WorkspaceId) => AccountCommand]>([
    [
      "made an owner",
      (email, workspace) => ({ command: "workspace member", workspace, email, role: "owner" })
    ],
    ["given a workspace", (owner) => ({ command: "workspace create", name: "orphan", owner, plan: "free" })],
    ["deleted", (email) => ({ command: "user delete", email })]
  ])("a user who is being deleted is not %s", ([, commandOf]) =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const [ann, bob] = [yield* on(0, makeUser), yield* on(0, makeUser)]
      const workspaceId = yield* on(0, makeWorkspace)
      const [sql, users] = [yield* on(0, PgClient), yield* on(0, UserRepo)]
      const workspaces = yield* on(0, WorkspaceRepo)
      yield* workspaces.addMember(workspaceId, ann.id, "owner", at())
      const deleting = Effect.gen(function* () {
        assert.isTrue(yield* users.remove(bob.id, at()))
        const late = yield* Effect.forkDetach(on(1, Effect.flip(execute(commandOf(bob.email, workspaceId)))))
        yield* on(1, Postgres.untilWaiting(1))
        return late
      })
      const late = yield* on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.atomically(deleting))
      )
      assert.strictEqual((yield* Fiber.join(late)).error, `there is no user ${bob.email}`)
      assert.deepStrictEqual(yield* workspaces.list(bob.id), [])
      assert.deepStrictEqual(yield* sql`select id from workspaces where name = 'orphan'`, [])
      const refused = yield* on(0, Effect.flip(execute({ command: "user delete", email: ann.email })))
      assert.include(refused.error, `is the only owner of ${workspaceId}`)
    })
  )
}

if (Postgres.hasPostgres) describe("Locks of accounts", suite)
else describe.skip(Postgres.skipped("Locks of accounts"), suite)
