import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { browser, untrustedHost } from "../support/Browser.ts"
import { openConsole, signedIn } from "../support/ConsolePage.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const title = "the sign-in of the console"
const missing = typeof browser === "string" ? `${title} (skipped: no Chromium: ${browser})` : undefined

describe.skipIf(missing !== undefined)(missing ?? title, () => {
  const dataDir = makeDataDir()
  let server: Server
  let token = ""

  beforeAll(async () => {
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path })
    token = readCredentials(dataDir.path).token
  })
  afterAll(async () => {
    if (typeof browser !== "string") await browser.close()
    await server?.stop("SIGKILL")
    dataDir.remove()
  })

  it("lets in by a token and by no other text, and leads back to where one was", async () => {
    const { page, isClean, close } = await openConsole(server.baseUrl)
    await page.goto("/#/agents")
    await page.getByRole("button", { name: "Sign in" }).waitFor()
    await page.locator("input").first().fill("agentd_this-is-no-token-of-anybody")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").waitFor()
    assert.strictEqual(await page.locator("input").first().inputValue(), "agentd_this-is-no-token-of-anybody")
    await page.locator("input").first().fill(token)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor()
    const cookies = await page.context().cookies()
    assert.deepStrictEqual(
      cookies.map(({ httpOnly, name }) => [name, httpOnly]),
      [["session", true]]
    )
    assert.notInclude(
      await page.evaluate<string>("JSON.stringify({ ...localStorage, ...sessionStorage })"),
      token
    )
    for (const name of [
      "Runs",
      "Approvals",
      "Schedules",
      "Chat",
      "Agents",
      "Connectors",
      "Models",
      "Webhooks",
      "Usage",
      "Settings"
    ]) {
      await page.getByRole("link", { name, exact: true }).click()
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor()
    }
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("button", { name: "Sign in" }).waitFor()
    isClean()
    await close()
  })

  it("asks to sign in when the session has ended on the server, and goes on where it was", async () => {
    const console = await openConsole(server.baseUrl)
    const { page, context, isClean, close } = console
    await signedIn(console, token)
    await console.view("connectors")
    await page.getByRole("heading", { level: 1, name: "Connectors" }).waitFor()
    await context.request.delete("/api/session")
    await page.getByRole("link", { name: "Models" }).click()
    await page.getByRole("button", { name: "Sign in" }).waitFor()
    await page.locator("input").first().fill(token)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor()
    await page.evaluate(`sessionStorage.setItem("typed", "and not sent")`)
    // It ends just before it is ended here: whatever else is asked meanwhile comes too late to lead away from the button.
    await page.route("**/api/session", async (route) => {
      await context.request.delete("/api/session")
      await route.continue()
    })
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("button", { name: "Sign in" }).waitFor()
    await until(() => page.evaluate<boolean>("sessionStorage.length === 0"), "nothing typed is left")
    isClean()
    await close()
  })

  it("keeps what is written when the session ends meanwhile, and follows a run on", async () => {
    const console = await openConsole(server.baseUrl)
    const { page, context, isClean, close } = console
    await signedIn(console, token)
    await console.view("runs")
    await page.getByRole("button", { name: "New task" }).first().click()
    const task = page.getByRole("textbox", { name: "What is to be done" })
    await task.fill("written for an hour")
    await context.request.delete("/api/session")
    await page.getByRole("button", { name: "Send task" }).click()
    const again = page.getByRole("dialog", { name: "Sign in" })
    await again.getByText("Your session has ended.").waitFor()
    await page.keyboard.press("Escape")
    await again.getByLabel("Token").fill("agentd_this-is-no-token-of-anybody")
    await page.keyboard.press("Enter")
    await again.getByRole("alert").waitFor()
    await again.getByLabel("Token").fill(token)
    await page.keyboard.press("Enter")
    await again.waitFor({ state: "detached" })
    assert.strictEqual(await task.inputValue(), "written for an hour")
    await page.getByRole("button", { name: "Send task" }).click()
    await page.getByText("Completed", { exact: true }).first().waitFor()

    await context.request.delete("/api/session")
    await again.waitFor()
    // In another tab, from which one comes back.
    await signedIn(console, token)
    await page.evaluate(`document.dispatchEvent(new Event("visibilitychange"))`)
    await again.waitFor({ state: "detached" })
    await page.getByRole("heading", { level: 1, name: "written for an hour" }).waitFor()
    isClean()
    await close()
  })

  it("forgets at the sign-out what was typed and not sent", async () => {
    const console = await openConsole(server.baseUrl)
    const { page, isClean, close } = console
    await signedIn(console, token)
    await console.view("runs")
    const text = page.getByLabel("What is to be done")
    const write = () => page.getByRole("button", { name: "New task" }).first().click()
    await write()
    await text.fill("what nobody else is to read")
    await page.keyboard.press("Escape")
    await write()
    assert.strictEqual(await text.inputValue(), "what nobody else is to read")
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.locator("input").first().fill(token)
    await page.keyboard.press("Enter")
    await write()
    assert.strictEqual(await text.inputValue(), "")
    isClean()
    await close()
  })

  it("signs in by the link that the first start has printed, once, and asks who is signed in already", async () => {
    const [link = ""] = /http\S+#\/sign-in\/\S+/u.exec(server.stdout() + server.stderr()) ?? []
    assert.include(link, server.baseUrl)
    const { page, isClean, close } = await openConsole(server.baseUrl)
    await page.goto("/")
    await page.getByRole("button", { name: "Sign in" }).waitFor()
    // In the same tab, which is not loaded again for it.
    await page.goto(link)
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor()
    assert.notInclude(page.url(), link.slice(link.lastIndexOf("/")))
    await page.goto("about:blank")
    await page.goto(link)
    await page.getByText("You are signed in as").waitFor()
    await page.getByRole("button", { name: "Sign in by the link" }).click()
    await page.getByRole("alert").waitFor()
    await page.context().clearCookies()
    await page.goto("about:blank")
    await page.goto(link)
    await page.getByRole("alert").waitFor()
    assert.isTrue(await page.getByLabel("Token").isVisible())
    isClean()
    await close()
  })

  it("works at the address of another machine over http, where browsers give pages less", async () => {
    const { page, isClean, close } = await openConsole(server.baseUrl.replace("127.0.0.1", untrustedHost))
    await page.goto("/#/runs")
    await page.locator("input").first().fill(token)
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "New task" }).first().click()
    assert.isFalse(await page.evaluate<boolean>("isSecureContext"))
    await page.getByLabel("What is to be done").fill("asked from elsewhere")
    await page.getByRole("button", { name: "Send task" }).click()
    await page.getByText("Completed", { exact: true }).first().waitFor()
    await page.getByRole("button", { name: "Copy" }).first().click()
    await page.getByText("Can't copy here").waitFor()
    await page.getByRole("link", { name: "Chat", exact: true }).click()
    await page.getByLabel("Message", { exact: true }).fill("said from elsewhere")
    await page.keyboard.press("Enter")
    await page.getByText("said from elsewhere").nth(1).waitFor()
    isClean()
    await close()
  })
})
