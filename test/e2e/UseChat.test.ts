import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Page } from "playwright-core"
import { balance } from "../support/Balancer.ts"
import { browser, openPage } from "../support/Browser.ts"
import { makeAccount, makeNodes, type Nodes, startModel, startTools } from "../support/Durability.ts"
import { bundleOfPage, servePage } from "../support/PageServer.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { report } from "../support/TurnReaders.ts"
import { until } from "../support/Until.ts"

/** Long enough for a node that lives to renew it, however busy the machine is. */
const leaseMillis = 10_000

const title = "useChat on a page of another origin"
const missing = !hasPostgres
  ? skipped(title)
  : typeof browser === "string"
    ? `${title} (skipped: no Chromium: ${browser})`
    : undefined

describe.skipIf(missing !== undefined)(missing ?? title, () => {
  const scope = Scope.makeUnsafe()
  let model: Awaited<ReturnType<typeof startModel>>
  let tools: Awaited<ReturnType<typeof startTools>>
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>
  let site: Awaited<ReturnType<typeof servePage>>
  let proxy: Awaited<ReturnType<typeof balance>>
  /** Asked first by the proxy. */
  let preferred = 0
  let jobs = 0

  beforeAll(async () => {
    model = await startModel(50)
    tools = await startTools(50)
    site = await servePage(await bundleOfPage())
    const url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, (node) => model.env(node), {
      AGENTD_LEASE_SECONDS: String(leaseMillis / 1000),
      AGENTD_DRAIN_SECONDS: "1",
      AGENTD_CORS_ORIGINS: `${site.base},${site.elsewhere}`
    })
    await Promise.all([nodes.start(0), nodes.start(1)])
    account = await makeAccount(url, nodes, tools.url)
    proxy = await balance(() => [preferred, 1 - preferred].map((node) => nodes.server(node).baseUrl))
  })
  afterAll(async () => {
    if (typeof browser !== "string") await browser.close()
    proxy?.close()
    await nodes?.stopAll()
    site?.close()
    model?.close()
    tools?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const asked = (job: number) => model.calls.filter((call) => call.job === job)
  /** What the model has said in its last answer so far. */
  const said = (job: number) => (asked(job).at(-1)?.words ?? []).map(({ word }) => word).join("")

  interface Opening {
    readonly chat?: string
    readonly origin?: string
    readonly token?: string
    readonly autonomy?: string
  }
  const open = async ({ autonomy, chat, origin, token }: Opening = {}) => {
    if (typeof browser === "string") throw new Error(browser)
    const { page } = await openPage(browser)
    const job = ++jobs
    const query = new URLSearchParams({ agentd: proxy.base, chat: chat ?? `chat-${job}` })
    if (autonomy !== undefined) query.set("autonomy", autonomy)
    await page.goto(`${origin ?? site.elsewhere}/?${query}#${token ?? account.token}`)
    return { chat: chat ?? `chat-${job}`, job, page }
  }

  const send = async (page: Page, text: string) => {
    await page.locator("input[name=text]").fill(text)
    await page.getByRole("button", { name: "Send" }).click()
  }
  const texts = (page: Page, role: string) => page.locator(`li[data-role=${role}]`).allTextContents()
  const reply = async (page: Page) => (await texts(page, "assistant")).at(-1) ?? ""
  const status = (page: Page) => page.locator("output").getAttribute("data-status")
  const settled = (page: Page) => page.locator("output[data-status=ready]").waitFor({ state: "attached" })

  /** The chat as the service has it; nothing before its first message is there. */
  const stored = async (chat: string): Promise<ReadonlyArray<{ role: string; content: string }>> => {
    const { client } = account
    const answer = await client(1).request("GET", `/api/ui/default/chat/${chat}`)
    if (answer.status === 404) return []
    const { conversationId }: { conversationId: string } = (await answer.json()) as never
    const { data } = await client(1).json("GET", `/api/chat/conversations/${conversationId}`)
    return data.messages
  }
  const storedReply = async (chat: string) => {
    const last = (await stored(chat)).at(-1)
    return last?.role === "ASSISTANT" ? last.content : undefined
  }

  it("survives three reloads and a kill -9, and shows what is stored", async () => {
    model.hold()
    preferred = 0
    const { chat, job, page } = await open()
    await send(page, `job ${job} stream 200`)
    let shown = ""
    /** At every moment it shows what was said so far, without a gap and nothing twice; and never less than before. */
    const grows = async (by: number) => {
      const before = shown
      await until(async () => {
        shown = await reply(page)
        assert.isTrue(said(job).startsWith(shown), `${shown} is not what was said`)
        return shown.length > before.length + by
      }, "the text grows")
    }
    await grows(20)
    for (const node of [0, 1, 0]) {
      preferred = node
      await page.reload()
      const whole = shown
      await until(async () => (await reply(page)).length >= whole.length, "what was shown is there again")
      await grows(10)
      assert.strictEqual(proxy.passed.at(-1)?.node, nodes.server(node).baseUrl)
      assert.deepStrictEqual(await texts(page, "user"), [`job ${job} stream 200`])
    }
    assert.strictEqual(asked(job)[0]?.node, 0)
    preferred = 1
    await nodes.kill(0)
    const killedAt = nodes.kills.at(-1)?.from ?? 0
    await until(() => asked(job).length === 2, "the other node has taken it up")
    assert.strictEqual(asked(job)[1]?.node, 1)
    await until(async () => (await reply(page)).startsWith(said(job).slice(0, 10)), "it shows the new answer")
    report(`kill -9: the page shows what the other node says after ${Date.now() - killedAt} ms`)
    shown = await reply(page)
    await grows(10)
    model.release()
    await settled(page)
    const text = await reply(page)
    assert.strictEqual(text, said(job))
    assert.strictEqual(text, await storedReply(chat))
    await page.reload()
    await settled(page)
    assert.strictEqual(await reply(page), text)
    assert.lengthOf(await texts(page, "assistant"), 1)
    assert.lengthOf(asked(job), 2)

    const next = ++jobs
    await send(page, `job ${next} stream 3`)
    await until(async () => (await reply(page)) === said(next) && said(next) !== "", "the chat goes on")
    await settled(page)
    assert.deepStrictEqual(
      (await stored(chat)).map(({ content }) => content),
      [`job ${job} stream 200`, text, `job ${next} stream 3`, said(next)]
    )
    await nodes.start(0)
  })

  it("goes on by itself where its node is stopped", async () => {
    model.hold()
    preferred = 0
    const { chat, job, page } = await open()
    await send(page, `job ${job} stream 50`)
    await until(async () => (await reply(page)).length > 10, "it answers")
    preferred = 1
    const stoppedAt = Date.now()
    const exit = nodes.server(0).stop("SIGTERM")
    await until(() => asked(job).length === 2, "the other node has taken it up")
    model.release()
    await until(async () => (await storedReply(chat)) === said(job), "the reply is stored")
    await until(async () => (await reply(page)) === said(job), "the page shows it")
    report(`SIGTERM: the page shows the whole answer of the other node after ${Date.now() - stoppedAt} ms`)
    await settled(page)
    assert.strictEqual(await exit, 0)
    await nodes.start(0)
  })

  it("stops the answer where it is asked to", async () => {
    model.hold()
    const { chat, job, page } = await open()
    await send(page, `job ${job} stream 20`)
    await until(async () => (await reply(page)).length > 10, "it answers")
    await page.getByRole("button", { name: "Stop" }).click()
    await until(() => asked(job)[0]?.brokenAt != null, "the model is let go")
    await settled(page)
    model.release()
    await page.reload()
    await settled(page)
    assert.isUndefined(await storedReply(chat))
    const next = ++jobs
    await send(page, `job ${next} stream 3`)
    await until(async () => (await storedReply(chat)) === said(next) && said(next) !== "", "it is free again")
    await until(async () => (await reply(page)) === said(next), "and shows that")
    assert.lengthOf(asked(job), 1)
  })

  it("goes on answering when its tab is closed", async () => {
    model.hold()
    const { chat, job, page } = await open()
    await send(page, `job ${job} stream 20`)
    await until(async () => (await reply(page)).length > 10, "it answers")
    await page.close()
    model.release()
    await until(async () => (await storedReply(chat)) !== undefined, "the reply is stored")
    assert.strictEqual(await storedReply(chat), said(job))
    assert.isNull(asked(job)[0]?.brokenAt)
    const again = await open({ chat })
    await until(
      async () => (await reply(again.page)) === said(job),
      "it is shown where the chat is opened again"
    )
    assert.strictEqual(await status(again.page), "ready")
  })

  it("asks whether a tool may be called, also after a reload", async () => {
    const { chat, job, page } = await open({ autonomy: "semi-autonomous" })
    await send(page, `job ${job} write stream 5`)
    await page.getByRole("button", { name: "Approve" }).waitFor()
    await page.reload()
    assert.lengthOf(tools.uses, 0)
    await page.getByRole("button", { name: "Approve" }).click()
    await until(async () => (await storedReply(chat)) !== undefined, "the reply is stored")
    await settled(page)
    assert.strictEqual(await reply(page), await storedReply(chat))
    assert.include(await reply(page), said(job))
    assert.deepStrictEqual(
      tools.uses.map(({ tool }) => tool),
      ["write"]
    )
  })

  it("talks with the session of its site instead of a token", async () => {
    const { chat, job, page } = await open({ origin: site.base })
    await page.evaluate(
      `fetch("${proxy.base}/api/session", { method: "POST", credentials: "include",
        headers: { authorization: "Bearer ${account.token}" } })`
    )
    await page.evaluate("location.hash = ''")
    await page.reload()
    await send(page, `job ${job} stream 3`)
    await until(async () => (await storedReply(chat)) !== undefined, "the reply is stored")
    await until(async () => (await reply(page)) === said(job), "it is shown")
  })
})
