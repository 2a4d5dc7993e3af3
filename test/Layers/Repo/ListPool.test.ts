import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Remote from "../../../src/Layers/Repo/Postgres/Remote.ts"
import { ProjectRepo } from "../../../src/Services/ProjectRepo.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { UserRepo } from "../../../src/Services/UserRepo.ts"
import { layerNode } from "../../support/Backends.ts"
import { makeProject, makeUser, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"

const connections = 4
const settings = { databaseTimeoutMillis: 240_000, databasePool: connections }

const suite = () =>
  it.live("lists that take long hold up nothing but lists", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.migratedDatabase
      const remote = Layer.provide(
        Remote.layer({ url: Redacted.make(url) }),
        Layer.succeed(Settings, { ...Settings.defaults, ...settings })
      )
      const node = Effect.provideContext(yield* Layer.build(layerNode(Layer.fresh(remote), settings)))
      const beside = Effect.provideContext(yield* Layer.build(Postgres.client(url)))
      const [isHeld, isOver] = [yield* Latch.make(false), yield* Latch.make(false)]
      const workspaceId = yield* node(makeWorkspace)
      const project = yield* node(makeProject(workspaceId))
      const held = yield* Effect.forkChild(
        beside(
          Effect.flatMap(PgClient, (sql) =>
            sql.withTransaction(
              Effect.gen(function* () {
                yield* sql`lock table projects`
                yield* isHeld.open
                yield* isOver.await
              })
            )
          )
        )
      )
      yield* isHeld.await
      const lists = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 3 * connections }, () =>
            node(Effect.flatMap(ProjectRepo, (projects) => projects.list(workspaceId)))
          ),
          { concurrency: "unbounded" }
        )
      )
      yield* beside(Postgres.untilWaiting(1))
      yield* node(
        Effect.gen(function* () {
          const { id } = yield* makeUser
          assert.isTrue(Option.isSome(yield* (yield* UserRepo).find(id)))
        })
      )
      yield* isOver.open
      yield* Fiber.join(held)
      for (const found of yield* Fiber.join(lists)) assert.deepStrictEqual(found, [project])
    })
  )

if (Postgres.hasPostgres) describe("the connections for lists", suite)
else describe.skip(Postgres.skipped("the connections for lists"), suite)
