import { mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { browser } from "../support/Browser.ts"
import { fillConsole } from "../support/ConsoleFilled.ts"
import { type Console, openConsole, schemes, signedIn } from "../support/ConsolePage.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const title = "the views of the console"
const missing = typeof browser === "string" ? `${title} (skipped: no Chromium: ${browser})` : undefined

const pictures = resolve(import.meta.dirname, "../../screenshots")
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** A laptop, the narrowest window of one, and a phone. */
const widths = [1280, 1024, 390] as const

describe.skipIf(missing !== undefined)(missing ?? title, () => {
  const dataDir = makeDataDir()
  let server: Server
  let token = ""
  let filled: Awaited<ReturnType<typeof fillConsole>>
  const opened = new Map<string, Console>()

  beforeAll(async () => {
    mkdirSync(pictures, { recursive: true })
    server = await startServer({
      AGENTD_DATA_DIR: dataDir.path,
      AGENTD_ALLOW_PRIVATE_ADDRESSES: "127.0.0.0/8"
    })
    const credentials = readCredentials(dataDir.path)
    token = credentials.token
    filled = await fillConsole(server.baseUrl, credentials)
    for (const scheme of schemes) {
      const console = await openConsole(server.baseUrl, { scheme })
      await signedIn(console, token)
      opened.set(scheme, console)
    }
  })
  afterAll(async () => {
    if (typeof browser !== "string") await browser.close()
    await server?.stop("SIGKILL")
    await filled?.close()
    dataDir.remove()
  })

  const barriers = async ({ page }: Console): Promise<unknown> => {
    await page.evaluate(axe)
    return page.evaluate(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
      violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => [id, nodes.map(({ target, failureSummary }) => target.join(" ") + ": " + failureSummary)]))`)
  }
  const overflow = ({ page }: Console) =>
    page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth")

  const look = async (console: Console, name: string, scheme: string) => {
    const { page } = console
    for (const width of widths) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 })
      assert.strictEqual(await overflow(console), 0, `${name} at ${width}`)
      await page.screenshot({ path: join(pictures, `${name}-${width}-${scheme}.png`) })
      if (width !== 1024) assert.deepStrictEqual(await barriers(console), [], `${name} at ${width}`)
    }
    await page.setViewportSize({ width: 1280, height: 900 })
    console.isClean()
  }

  interface View {
    readonly name: string
    readonly address: () => string
    /** What is seen when it is there. */
    readonly shows: string | RegExp
    /** What is done then, such as opening a dialog. */
    readonly act?: (console: Console) => Promise<unknown>
  }

  const press =
    (button: string) =>
    async ({ page }: Console) => {
      await page.getByRole("button", { name: button }).first().click()
      await page.getByRole("dialog").waitFor()
    }

  const views: ReadonlyArray<View> = [
    { name: "runs", address: () => "runs", shows: /Completed/ },
    { name: "runs-none", address: () => "runs?status=CANCELLED", shows: /No run/ },
    { name: "runs-new", address: () => "runs", shows: /Completed/, act: press("New task") },
    { name: "run-completed", address: () => `runs/${filled.completed}`, shows: "Model call 1" },
    { name: "run-failed", address: () => `runs/${filled.failed}`, shows: /budget/ },
    { name: "run-waiting", address: () => `runs/${filled.waiting}`, shows: "Approve" },
    { name: "run-unknown", address: () => "runs/run_nobody", shows: "There is no run" },
    { name: "approvals", address: () => "approvals", shows: "Approve" },
    { name: "schedules", address: () => "schedules", shows: "Nightly report" },
    { name: "schedule", address: () => `schedules/${filled.job}`, shows: "Past slots" },
    { name: "schedule-new", address: () => "schedules/new", shows: "Create schedule" },
    { name: "chat", address: () => "chat", shows: "Write down" },
    { name: "conversation", address: () => `chat/${filled.conversation}`, shows: "remember returned" },
    { name: "agents", address: () => "agents", shows: "Researcher" },
    { name: "agent", address: () => `agents/${filled.agent}`, shows: "Researcher" },
    { name: "connectors", address: () => "connectors", shows: "could not be reached" },
    { name: "connector", address: () => `connectors/${filled.connector}`, shows: /tools?$/ },
    { name: "connector-failing", address: () => `connectors/${filled.failing}`, shows: "can't be used" },
    { name: "connector-new", address: () => "connectors", shows: "Nobody", act: press("New connector") },
    { name: "models", address: () => "models", shows: "A slow one" },
    { name: "model-new", address: () => "models", shows: "A slow one", act: press("New provider key") },
    { name: "webhooks", address: () => "webhooks", shows: "All events" },
    { name: "webhook", address: () => `webhooks/${filled.webhook}`, shows: "Redeliver" },
    { name: "webhook-new", address: () => "webhooks", shows: "All events", act: press("New webhook") },
    { name: "usage", address: () => "usage?by=model", shows: "Tokens by day" },
    ...["workspace", "members", "tokens", "budget", "memory", "audit", "about"].map((part) => ({
      name: `settings-${part}`,
      address: () => `settings/${part}`,
      shows: /./
    }))
  ]

  for (const scheme of schemes) {
    it.each(views)(
      `$name is legible to everybody, on any width, ${scheme}`,
      async ({ act, address, name, shows }) => {
        const console = opened.get(scheme)
        if (console === undefined) throw new Error("no page")
        await console.page.goto("about:blank")
        await console.view(address())
        await console.page.locator("main").getByText(shows).first().waitFor({ state: "attached" })
        const loading = console.page.getByRole("status", { name: "Loading" })
        await until(async () => (await loading.count()) === 0, "everything is loaded")
        await act?.(console)
        await look(console, name, scheme)
      }
    )

    it(`the sign-in is legible to everybody, on any width, ${scheme}`, async () => {
      const console = await openConsole(server.baseUrl, { scheme })
      await console.view("sign-in/no-such-code")
      await console.page.getByRole("alert").waitFor()
      await look(console, "sign-in", scheme)
      await console.close()
    })
  }
})
