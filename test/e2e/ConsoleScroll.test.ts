import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { browser } from "../support/Browser.ts"
import { openConsole, signedIn } from "../support/ConsolePage.ts"
import { makeAccount, makeNodes, type Nodes, onDatabase } from "../support/Durability.ts"
import { seedRuns } from "../support/ManyRows.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"

const title = "a long list of runs in a browser"
const missing = !hasPostgres
  ? skipped(title)
  : typeof browser === "string"
    ? `${title} (skipped: no Chromium: ${browser})`
    : undefined

/** One in fifty is of another workspace. */
const seeded = 10_204
const mostInPage = 100

describe.skipIf(missing !== undefined)(missing ?? title, () => {
  const scope = Scope.makeUnsafe()
  let nodes: Nodes
  let token = ""

  beforeAll(async () => {
    const url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, () => ({}))
    await nodes.start(0)
    token = (await makeAccount(url, nodes)).token
    await onDatabase(url, (sql) => Effect.provideService(seedRuns(seeded), PgClient.PgClient, sql))
    await onDatabase(
      url,
      (sql) => sql`
        insert into workspace_members (workspace_id, user_id, role, created_at)
        select 'ws_big', user_id, 'owner', now() from tokens`
    )
  })
  afterAll(async () => {
    if (typeof browser !== "string") await browser.close()
    await nodes?.stopAll()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  it("is read on while it is scrolled, down to the oldest of ten thousand, with a page of rows in the document", async () => {
    const console = await openConsole(nodes.server(0).baseUrl)
    await signedIn(console, token)
    const { page, isClean, close } = console
    await page.addInitScript(`localStorage.setItem("agentd.workspace", "ws_big")`)
    await console.view("runs")
    await page.getByText("10,000 runs").waitFor()
    const rows = page.locator("[data-run]")
    const oldest = page.locator("[data-run=run_00000001]")
    await until(async () => {
      await page.evaluate("document.querySelector('.virtual').scrollTop = 1e9")
      assert.isBelow(await rows.count(), mostInPage)
      return (await oldest.count()) === 1
    }, "the oldest run is there")
    isClean()
    await close()
  })
})
