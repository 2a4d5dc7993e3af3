import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { browser } from "../support/Browser.ts"
import { builtConsole } from "../support/ConsoleBuilt.ts"
import { openConsole, signedIn } from "../support/ConsolePage.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"

const title = "the chat in a browser"
const missing = typeof browser === "string" ? `${title} (skipped: no Chromium: ${browser})` : undefined
const messages = "**/api/chat/messages"

describe.skipIf(missing !== undefined)(missing ?? title, () => {
  const dataDir = makeDataDir()
  let server: Server

  beforeAll(async () => {
    await builtConsole()
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path })
  })
  afterAll(async () => {
    if (typeof browser !== "string") await browser.close()
    await server?.stop("SIGKILL")
    dataDir.remove()
  })

  /** The chat, and how often something was said in it, answered or not. */
  const chat = async () => {
    const opened = await openConsole(server.baseUrl)
    await signedIn(opened, readCredentials(dataDir.path).token)
    await opened.view("chat")
    const input = opened.page.getByRole("textbox", { name: "Message" })
    await input.waitFor()
    const said = (text: string) => opened.page.locator(".chat-message", { hasText: text }).count()
    return { ...opened, input, said }
  }

  it("says a message once whose answer was lost on the way", async () => {
    const { page, input, said, close } = await chat()
    let tries = 0
    await page.route(messages, async (route) => {
      tries += 1
      if (tries > 1) return route.continue()
      await route.fetch()
      await route.abort()
    })
    await input.fill("lost on the way")
    await input.press("Enter")
    await page.getByText("You wrote: lost on the way").waitFor()
    assert.deepStrictEqual([tries, await said("lost on the way")], [2, 2])
    await close()
  })

  it("says a message once when the page is loaded again before its answer", async () => {
    const { page, input, said, close } = await chat()
    let isSent = () => {}
    const sent = new Promise<void>((resolve) => {
      isSent = resolve
    })
    await page.route(messages, async (route) => {
      await route.fetch()
      isSent()
    })
    await input.fill("loaded again")
    await input.press("Enter")
    await sent
    await page.unroute(messages)
    await page.reload()
    await page.getByText("You wrote: loaded again").waitFor()
    await page.waitForURL(/#\/chat\/conv_/u)
    assert.deepStrictEqual([await said("loaded again"), await input.inputValue()], [2, ""])
    assert.strictEqual(await page.getByRole("link", { name: /^loaded again/u }).count(), 1)
    await close()
  })

  it("keeps what was typed when it is refused, and says why", async () => {
    const { page, input, said, close } = await chat()
    const body = JSON.stringify({ error: "this conversation is still answering" })
    const headers = { "x-error-code": "conversation_busy" }
    await page.route(messages, (route) =>
      route.fulfill({ status: 409, contentType: "application/json", headers, body })
    )
    await input.fill("keep this")
    await input.press("Enter")
    await page.getByText("this conversation is still answering").waitFor()
    assert.deepStrictEqual([await input.inputValue(), await said("keep this")], ["keep this", 0])
    await page.reload()
    await input.waitFor()
    assert.strictEqual(await input.inputValue(), "keep this")
    await close()
  })

  it("leads nobody back who has gone elsewhere before the answer began", async () => {
    const { page, input, view, isClean, close } = await chat()
    let goOn = () => {}
    const gone = new Promise<void>((resolve) => {
      goOn = resolve
    })
    await page.route(messages, async (route) => {
      await gone
      await route.continue()
    })
    await input.fill("left behind")
    await input.press("Enter")
    await view("agents")
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor()
    const answered = page.waitForResponse(messages)
    goOn()
    await answered
    await page.waitForTimeout(500)
    assert.match(page.url(), /#\/agents$/u)
    await view("chat")
    await page.getByRole("link", { name: /^left behind/u }).click()
    await page.getByText("You wrote: left behind").waitFor()
    isClean()
    await close()
  })

  it("takes Enter for one of an input method while that composes, and Shift with it for a new line", async () => {
    const { page, input, said, isClean, close } = await chat()
    await input.fill("one")
    await input.evaluate(`(element) =>
      element.dispatchEvent(
        new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true })
      )`)
    await input.press("Shift+Enter")
    await input.pressSequentially("two")
    assert.deepStrictEqual([await input.inputValue(), await said("one")], ["one\ntwo", 0])
    await input.press("Enter")
    await page.getByText("You wrote: one").waitFor()
    isClean()
    await close()
  })

  it("stops an answer that waits, and says so", async () => {
    const { page, input, isClean, close } = await chat()
    await page.getByLabel("When it asks").selectOption("supervised")
    await input.fill('call remember {"key":"a","value":"b"}')
    await input.press("Enter")
    await page.getByRole("button", { name: "Approve" }).waitFor()
    await page.getByRole("button", { name: "Stop" }).click()
    await page.getByRole("link", { name: "See what happened" }).waitFor()
    assert.strictEqual(await page.getByRole("button", { name: "Approve" }).count(), 0)
    await page.getByRole("button", { name: "Send" }).waitFor()
    isClean()
    await close()
  })
})
