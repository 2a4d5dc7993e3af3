import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { browser } from "../support/Browser.ts"
import { type Console, openConsole, signedIn } from "../support/ConsolePage.ts"
import { makeClient, makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"

const title = "the console in a browser"
const missing = typeof browser === "string" ? `${title} (skipped: no Chromium: ${browser})` : undefined

const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>\u202e`

describe.skipIf(missing !== undefined)(missing ?? title, () => {
  const dataDir = makeDataDir()
  let server: Server
  let token = ""
  let workspaceId = ""
  const opened: Array<Console> = []

  beforeAll(async () => {
    server = await startServer({
      AGENTD_DATA_DIR: dataDir.path,
      AGENTD_ALLOW_PRIVATE_ADDRESSES: "127.0.0.0/8"
    })
    const credentials = readCredentials(dataDir.path)
    token = credentials.token
    workspaceId = credentials.workspaceId
  })
  afterAll(async () => {
    if (typeof browser !== "string") await browser.close()
    await server?.stop("SIGKILL")
    dataDir.remove()
  })

  const api = async (method: string, path: string, body?: object) => {
    const answer = await makeClient(server.baseUrl, token).request(method, path, body)
    assert.isBelow(answer.status, 300, `${method} ${path}`)
    return (await answer.json()) as { readonly data: { readonly id: string; readonly status: string } }
  }
  const task = async (prompt: string, more: object = {}) =>
    (await api("POST", "/api/tasks", { workspaceId, prompt, ...more })).data.id

  const open = async (address: string) => {
    const console = await openConsole(server.baseUrl)
    opened.push(console)
    await signedIn(console, token)
    await console.view(address)
    return console
  }

  it("sends a task, shows how it went, and keeps filters in its address", async () => {
    const { page, isClean, close } = await open("runs")
    await page.getByRole("button", { name: "New task" }).first().click()
    const dialog = page.getByRole("dialog")
    await dialog.getByRole("textbox").first().fill('Note it\ncall remember {"key":"city","value":"Bonn"}')
    await page.keyboard.press("Control+Enter")
    await page.waitForURL(/#\/runs\/run_/)
    await page.getByText("Completed", { exact: true }).first().waitFor()
    await page.getByText("Model call 1").waitFor()
    await page.getByText("remember", { exact: true }).first().waitFor()
    await page.goto("/#/runs?status=FAILED")
    await page
      .getByText(/no run/i)
      .first()
      .waitFor()
    await page.reload()
    await page
      .getByText(/no run/i)
      .first()
      .waitFor()
    await page.goBack()
    await page.getByText("Model call 1").waitFor()
    isClean()
    await close()
  })

  it("shows by itself what others begin, without a reload", async () => {
    const { page, isClean, close } = await open("runs")
    await page.getByText("Note it").first().waitFor()
    await task("begun by somebody else")
    await page.getByText("begun by somebody else").waitFor()
    isClean()
    await close()
  })

  it("says in a sentence why a run has failed, and retries it", async () => {
    await api("PUT", `/api/workspaces/${workspaceId}/budget`, { runTokens: 0 })
    const id = await task("too dear")
    const { page, isClean, close } = await open(`runs/${id}`)
    await page
      .getByText(/this run has used up its budget/)
      .first()
      .waitFor()
    await api("PUT", `/api/workspaces/${workspaceId}/budget`, {})
    await page.getByRole("button", { name: "Retry" }).first().click()
    await page.getByText("Completed", { exact: true }).first().waitFor()
    isClean()
    await close()
  })

  it("approves and rejects with a reason, by mouse and by keyboard", async () => {
    const call = 'call remember {"key":"lake","value":"deep \u202egpj.exe"}'
    const ids = [await task(call, { autonomyLevel: "supervised" })]
    const { page, isClean, close } = await open("approvals")
    await page.getByText("⟨U+202E⟩").first().waitFor()
    await page.getByRole("button", { name: "Approve" }).click()
    await page.getByText("Nothing waits for you.").waitFor()

    ids.push(await task(call, { autonomyLevel: "supervised" }))
    await page.getByRole("button", { name: "Approve", disabled: false }).waitFor()
    await page.keyboard.press("r")
    await page.keyboard.type("a: not the lake")
    await page.keyboard.press("Enter")
    await page.getByText("Nothing waits for you.").waitFor()

    ids.push(await task(call, { autonomyLevel: "supervised" }))
    await page.getByRole("button", { name: "Approve", disabled: false }).waitFor()
    await page.keyboard.press("a")
    await page.getByText("Nothing waits for you.").waitFor()

    const [approved, rejected, again] = ids
    for (const [id, told] of [
      [approved, "remember"],
      [rejected, "a: not the lake"],
      [again, "remember"]
    ]) {
      await page.goto(`/#/runs/${id}`)
      await page.getByText("Completed", { exact: true }).first().waitFor()
      const detail = await (await makeClient(server.baseUrl, token).request("GET", `/api/runs/${id}`)).text()
      assert.include(detail, told ?? "")
    }
    isClean()
    await close()
  })

  it("chats, asks in place, and takes a waiting answer up after a reload", async () => {
    const { page, isClean, close } = await open("chat")
    const message = page.getByRole("textbox", { name: "Message" })
    await message.fill("Hello")
    await message.press("Enter")
    await page.getByText(/You wrote: Hello/).waitFor()
    await page.waitForURL(/#\/chat\/conv_/)
    await page.getByLabel("When it asks").selectOption("supervised")
    await message.fill('call remember {"key":"sea","value":"salt"}')
    await message.press("Enter")
    await page.getByRole("button", { name: "Approve" }).waitFor()
    await message.fill("a draft")
    await page.reload()
    await page.getByRole("button", { name: "Approve" }).click()
    await page.getByText(/remember returned/).waitFor()
    assert.strictEqual(await page.getByText(/remember returned/).count(), 1)
    assert.strictEqual(await page.getByText('call remember {"key":"sea","value":"salt"}').count(), 1)
    assert.strictEqual(await message.inputValue(), "a draft")
    isClean()
    await close()
  })

  it("makes a schedule with a preview, and shows its slots, each of which leads to its run", async () => {
    const { page, isClean, close } = await open("schedules")
    await page.getByRole("link", { name: "New schedule" }).first().click()
    await page.getByLabel("Name", { exact: true }).fill("Every second")
    await page.getByLabel("Task", { exact: true }).fill("tick")
    const schedule = page.getByRole("textbox", { name: "Schedule", exact: true })
    await schedule.fill("99 * * * *")
    await page
      .getByText(/is not a valid cron expression/)
      .first()
      .waitFor()
    await schedule.fill("* * * * * *")
    await page.getByRole("region", { name: "Preview" }).getByRole("row").nth(2).waitFor()
    await page.getByRole("button", { name: "Create schedule" }).click()
    await page.waitForURL(/#\/schedules\/cron_/)
    const cell = page
      .getByRole("list", { name: /Past slots/ })
      .getByRole("link")
      .first()
    await cell.waitFor()
    await cell.click()
    await page.waitForURL(/#\/runs\/run_/)
    await page.getByText("Completed", { exact: true }).first().waitFor()
    isClean()
    await close()
  })

  it("shows why a connector can't be used", async () => {
    const { page, isClean, close } = await open("connectors")
    await page.getByRole("button", { name: "New connector" }).first().click()
    await page.getByLabel("Name").fill("Nobody")
    await page.getByLabel("Address").fill("not an address")
    await page.getByRole("button", { name: "Add connector" }).click()
    await page.locator("input:invalid").waitFor()
    await page.getByLabel("Address").fill("http://127.0.0.1:1/mcp")
    await page.getByRole("button", { name: "Add connector" }).click()
    await page.waitForURL(/#\/connectors\/conn_/)
    await page.getByRole("button", { name: "Check now" }).click()
    await page.getByText("the server could not be reached").waitFor()
    await page.getByText("Error", { exact: true }).waitFor()
    isClean()
    await close()
  })

  it("shows a new token once, and revokes it", async () => {
    const { page, isClean, close } = await open("settings/tokens")
    await page.getByLabel("What it is for").fill("a robot")
    await page.getByRole("button", { name: "Create token" }).click()
    const made = await page.getByRole("dialog").locator("code").first().textContent()
    const works = () => makeClient(server.baseUrl, made ?? "").request("GET", "/api/workspaces")
    assert.strictEqual((await works()).status, 200)
    await page.getByRole("button", { name: "I have kept it" }).click()
    assert.notInclude(await page.content(), made ?? "none")
    await page
      .getByRole("row", { name: /a robot/ })
      .getByRole("button")
      .click()
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
    await page.getByRole("row", { name: /a robot/ }).waitFor({ state: "detached" })
    assert.strictEqual((await works()).status, 401)
    isClean()
    await close()
  })

  it("shows what a model or anybody says as text, whatever it is", async () => {
    await api("POST", "/api/agents", { workspaceId, name: `Agent ${hostile}`.slice(0, 100) })
    const agent = await api("POST", "/api/agents", {
      workspaceId,
      name: hostile.slice(0, 100),
      systemPrompt: hostile
    })
    const long = "x".repeat(9_000)
    const id = await task(
      `${hostile}\n${long}\ncall remember ${JSON.stringify({ key: "k", value: hostile })}`
    )
    const { page, isClean, close } = await open(`runs/${id}`)
    await page.getByText("Completed", { exact: true }).first().waitFor()
    for (const address of ["runs", "agents", `agents/${agent.data.id}`, "settings/memory", "chat", "usage"]) {
      await page.goto(`/#/${address}`)
      await page.getByRole("heading", { level: 1 }).first().waitFor()
    }
    await page.goto(`/#/runs/${id}`)
    await page.getByText("Model call 1").waitFor()
    assert.strictEqual(await page.locator("main img, main script").count(), 0)
    isClean()
    await close()
  })

  it("shows of each workspace its own things alone", async () => {
    const { page, isClean, close } = await open("runs")
    await page.getByText("begun by somebody else").waitFor()
    const other = await api("POST", "/api/workspaces", { name: "Another" })
    await page.reload()
    await page.getByLabel("Workspace", { exact: true }).selectOption(other.data.id)
    await page.getByText("No run yet.").first().waitFor()
    assert.strictEqual(await page.getByText("begun by somebody else").count(), 0)
    await page.goto("/#/agents")
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor()
    assert.strictEqual(await page.getByText(/onerror/).count(), 0)
    isClean()
    await close()
  })
})
