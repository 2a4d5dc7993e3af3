import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Page } from "playwright-core"
import { balance } from "../support/Balancer.ts"
import { browser } from "../support/Browser.ts"
import { openConsole, signedIn } from "../support/ConsolePage.ts"
import { makeAccount, makeNodes, type Nodes, startModel } from "../support/Durability.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"

/** Long enough for a node that lives to renew it, however busy the machine is. */
const leaseMillis = 10_000

const title = "the console over two nodes"
const missing = !hasPostgres
  ? skipped(title)
  : typeof browser === "string"
    ? `${title} (skipped: no Chromium: ${browser})`
    : undefined

describe.skipIf(missing !== undefined)(missing ?? title, () => {
  const scope = Scope.makeUnsafe()
  let model: Awaited<ReturnType<typeof startModel>>
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>
  let proxy: Awaited<ReturnType<typeof balance>>
  /** Asked first by the proxy. */
  let preferred = 0

  beforeAll(async () => {
    model = await startModel(50)
    const url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, (node) => model.env(node), {
      AGENTD_LEASE_SECONDS: String(leaseMillis / 1000),
      AGENTD_DRAIN_SECONDS: "1"
    })
    await Promise.all([nodes.start(0), nodes.start(1)])
    account = await makeAccount(url, nodes)
    proxy = await balance(() => [preferred, 1 - preferred].map((node) => nodes.server(node).baseUrl))
  })
  afterAll(async () => {
    if (typeof browser !== "string") await browser.close()
    proxy?.close()
    await nodes?.stopAll()
    model?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const asked = (job: number) => model.calls.filter((call) => call.job === job)
  const said = (job: number) => (asked(job).at(-1)?.words ?? []).map(({ word }) => word).join("")
  const open = async (address: string) => {
    const console = await openConsole(proxy.base)
    await signedIn(console, account.token)
    // Whether it is loaded again is told by what it does not remember then.
    await console.view(address)
    await console.page.evaluate("globalThis.isSame = true")
    return console
  }
  const isSame = (page: Page) => page.evaluate<boolean>("globalThis.isSame === true")
  const shows = (page: Page, text: string) =>
    until(async () => (await page.locator("main").innerText()).includes(text.trim()), `it shows ${text}`)

  it("goes on with a run that is watched when its node is killed, without being loaded again", async () => {
    model.hold()
    preferred = 0
    const { page, isClean, close } = await open("runs")
    const id = await account.submit(0, "job 1 stream 60")
    await page.getByText("job 1 stream 60").first().click()
    await page.waitForURL(new RegExp(id))
    await until(() => said(1).length > 40, "it says something")
    await shows(page, said(1).slice(0, 20))
    const doomed = asked(1)[0]?.node ?? 0
    preferred = 1 - doomed
    await nodes.kill(doomed)
    await until(() => asked(1).length === 2, "the other node has taken it up")
    await until(() => said(1).length > 40, "it says something anew")
    await shows(page, said(1).slice(0, 20))
    model.release()
    await page.getByText("Completed", { exact: true }).first().waitFor()
    await page
      .getByText(/taken over/)
      .first()
      .waitFor()
    const { data } = await account.client(1 - doomed).json("GET", `/api/runs/${id}`)
    await shows(page, data.output.slice(-20))
    assert.strictEqual(await page.getByText("Model call 1", { exact: true }).count(), 1)
    assert.isTrue(await isSame(page))
    isClean()
    await close()
    await nodes.start(doomed)
  })

  it("takes up an answer of a chat that is loaded again while it is streamed, and shows it once", async () => {
    model.hold()
    preferred = 0
    const { page, isClean, close } = await open("chat")
    const message = page.getByRole("textbox", { name: "Message" })
    await message.fill("job 2 stream 80")
    await message.press("Enter")
    await until(() => said(2).length > 40, "it says something")
    await shows(page, said(2).slice(0, 20))
    preferred = 1
    await page.reload()
    await shows(page, said(2).slice(0, 20))
    await page.getByRole("link", { name: "Runs" }).click()
    await page.goBack()
    await shows(page, said(2).slice(0, 20))
    model.release()
    await page.getByRole("button", { name: "Send" }).waitFor()
    const whole = said(2).trim()
    await shows(page, whole)
    const text = await page.getByRole("log").innerText()
    for (const once of [whole.slice(0, 20), "job 2 stream 80"]) {
      assert.strictEqual(text.split(once).length, 2, `${once} is there once`)
    }
    isClean()
    await close()
  })
})
