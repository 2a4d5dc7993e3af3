import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { browser } from "../support/Browser.ts"
import { builtConsole } from "../support/ConsoleBuilt.ts"
import { openConsole, signedIn } from "../support/ConsolePage.ts"
import { makeClient, makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const title = "the inbox of approvals in a browser"
const missing = typeof browser === "string" ? `${title} (skipped: no Chromium: ${browser})` : undefined

describe.skipIf(missing !== undefined)(missing ?? title, () => {
  const dataDir = makeDataDir()
  let server: Server
  let token = ""
  let workspaceId = ""

  beforeAll(async () => {
    await builtConsole()
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path })
    const credentials = readCredentials(dataDir.path)
    token = credentials.token
    workspaceId = credentials.workspaceId
  })
  afterAll(async () => {
    if (typeof browser !== "string") await browser.close()
    await server?.stop("SIGKILL")
    dataDir.remove()
  })

  const api = (method: string, path: string, body?: object) =>
    makeClient(server.baseUrl, token).request(method, path, body)
  const waiting = async () => {
    const answer = await api("GET", `/api/approvals?workspaceId=${workspaceId}`)
    return ((await answer.json()) as { readonly data: ReadonlyArray<{ readonly id: string }> }).data
  }
  const rejectAll = async () => {
    for (const { id } of await waiting()) await api("POST", `/api/approvals/${id}`, { decision: "reject" })
  }

  /** The inbox with so many calls that wait, all alike in size. */
  const inbox = async (count: number) => {
    await rejectAll()
    for (let n = 0; n < count; n += 1) {
      const prompt = `call remember {"key":"k${n}","value":"v"}`
      await api("POST", "/api/tasks", { workspaceId, prompt, autonomyLevel: "supervised" })
    }
    await until(async () => (await waiting()).length === count, "the calls wait")
    const opened = await openConsole(server.baseUrl)
    await signedIn(opened, token)
    await opened.view("approvals")
    await opened.page
      .getByRole("button", { name: "Approve" })
      .nth(count - 1)
      .waitFor()
    return opened
  }

  it("decides once about one call by a double click, though the next one moves below the pointer", async () => {
    const { page, isClean, close } = await inbox(3)
    const box = await page.getByRole("button", { name: "Approve" }).first().boundingBox()
    assert.isNotNull(box)
    const { x = 0, y = 0 } = box ?? {}
    for (let n = 0; n < 5; n += 1) {
      await page.mouse.click(x + 10, y + 10)
      await page.waitForTimeout(60)
    }
    await page.getByText("Approved: remember").waitFor()
    await page.waitForTimeout(300)
    assert.lengthOf(await waiting(), 2)
    assert.match(page.url(), /#\/approvals$/u)
    isClean()
    await close()
  })

  it("rejects one call by an Enter that is held down", async () => {
    const { page, isClean, close } = await inbox(2)
    await page.keyboard.press("r")
    await page.keyboard.type("a jar")
    for (let n = 0; n < 15; n += 1) {
      await page.keyboard.down("Enter")
      await page.waitForTimeout(60)
    }
    await page.keyboard.up("Enter")
    await page.getByText("Rejected: remember").waitFor()
    assert.lengthOf(await waiting(), 1)
    assert.include(await page.evaluate<string>("document.activeElement.className"), "approval-card")
    isClean()
    await close()
  })

  it("decides by key about no other call when the selected one is decided by somebody else", async () => {
    const { page, isClean, close } = await inbox(3)
    await page.keyboard.press("j")
    const selected = await page.locator("[data-id][aria-current]").getAttribute("data-id")
    await api("POST", `/api/approvals/${selected}`, { decision: "approve" })
    await page.getByText("Decided elsewhere, or too late: remember").waitFor()
    await page.waitForTimeout(800)
    await page.keyboard.press("a")
    await page.waitForTimeout(500)
    assert.lengthOf(await waiting(), 2)
    await page.keyboard.press("j")
    await page.keyboard.press("a")
    await until(async () => (await waiting()).length === 1, "the call was decided about")
    isClean()
    await close()
  })

  it("says so and takes the card away when somebody was faster", async () => {
    const { page, close } = await inbox(1)
    const [first] = await waiting()
    await page.route("**/api/approvals?*", (route) => route.abort())
    // What the list was asked before has its answer by then: it is not what takes the card away.
    await page.getByText("agentd can't be reached.").waitFor()
    await api("POST", `/api/approvals/${first?.id}`, { decision: "reject" })
    await page.getByRole("button", { name: "Approve" }).click()
    await page.getByText("this was decided already").waitFor()
    assert.strictEqual(await page.getByRole("button", { name: "Approve" }).count(), 0)
    await close()
  })
})
