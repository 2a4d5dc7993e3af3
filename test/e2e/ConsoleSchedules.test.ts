import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { assert, it } from "@effect/vitest"
import { builtConsole } from "../support/ConsoleBuilt.ts"
import { inBrowser } from "../support/InBrowser.ts"
import { makeClient } from "../support/Process.ts"

type Opened = Awaited<ReturnType<Parameters<Parameters<typeof inBrowser>[1]>[0]>>

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** A view of the console, by who has signed in. */
const signedIn = async ({ page, server, token }: Opened) => {
  const answer = await page.request.post(`${server.baseUrl}/api/session`, {
    headers: { authorization: `Bearer ${token}` }
  })
  assert.strictEqual(answer.status(), 201)
  return (route: string) => page.goto(`${server.baseUrl}/#/${route}`)
}

/** What stands in the way of people with a screen reader or a keyboard, of what is shown now. */
const barriers = async ({ page }: Opened): Promise<unknown> => {
  await page.evaluate(axe)
  return page.evaluate(`
    axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
      violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(" "))])
    )`)
}

inBrowser(
  "schedules and agents in the console",
  (open) => {
    it("show what a schedule means while it is typed, and the sentence about what is wrong at its field", async () => {
      const opened = await open()
      const { page } = opened
      const go = await signedIn(opened)
      await go("schedules/new")
      const schedule = page.getByRole("textbox", { name: "Schedule", exact: true })
      await schedule.fill("99 * * * *")
      await page.getByText("Invalid value for minute: 99").waitFor()
      assert.strictEqual(await schedule.getAttribute("aria-invalid"), "true")
      await page.getByRole("combobox", { name: "Time zone" }).fill("Asia/Tokyo")
      await schedule.fill("0 9 * * MON-FRI")
      await page.getByText("Monday to Friday at 09:00.").waitFor()
      const instants = page.getByRole("region", { name: "Next instants" }).getByRole("row")
      await instants.nth(5).waitFor()
      assert.match(await instants.nth(1).innerText(), /09:00 UTC\+9/u)
      assert.deepStrictEqual(await barriers(opened), [])

      await page.getByRole("button", { name: "Create schedule" }).click()
      await page.getByText("must be 1 to 100 characters").waitFor()
      assert.strictEqual(await schedule.inputValue(), "0 9 * * MON-FRI")
      await page.getByRole("textbox", { name: "Name" }).fill("Tokyo opens")
      await page.getByRole("textbox", { name: "Task" }).fill("Say good morning.")
      await page.getByRole("button", { name: "Create schedule" }).click()
      await page.getByRole("heading", { level: 1, name: "Tokyo opens" }).waitFor()
      await page.getByText("No slot yet.").waitFor()
      assert.deepStrictEqual(await barriers(opened), [])
      await page.close()
    })

    it("lead from each past slot to its run, by keyboard too", async () => {
      const opened = await open()
      const { page, server, token, workspaceId } = opened
      const client = makeClient(server.baseUrl, token)
      const { data: job } = await client.json("POST", "/api/cron-jobs", {
        workspaceId,
        name: "Every second",
        schedule: "* * * * * *",
        prompt: "call current_time {}"
      })
      const go = await signedIn(opened)
      await go(`schedules/${job.id}`)
      const cells = page.locator("[data-slot]")
      await cells.nth(3).waitFor()
      await page.getByRole("switch").click()
      await page.getByText("Switched off", { exact: true }).waitFor()
      assert.strictEqual(await page.locator('[data-slot][tabindex="0"]').count(), 1)
      await cells.last().focus()
      await page.keyboard.press("Home")
      await page.keyboard.press("ArrowRight")
      const second = cells.nth(1)
      const focused = await page.evaluate("document.activeElement.getAttribute('data-slot')")
      assert.strictEqual(focused, await second.getAttribute("data-slot"))
      assert.match((await second.getAttribute("aria-label")) ?? "", /UTC: /u)
      const { data: fires } = await client.json("GET", `/api/cron-jobs/${job.id}/fires`)
      const runId = fires.at(-2).runId
      assert.strictEqual(await second.getAttribute("href"), `#/runs/${runId}`)
      assert.deepStrictEqual(await barriers(opened), [])
      await page.keyboard.press("Enter")
      await page.waitForURL((url) => url.hash === `#/runs/${runId}`)

      await go(`schedules/${job.id}`)
      await page.getByRole("button", { name: "Run now" }).click()
      const made = await page.getByRole("link", { name: "See it" }).getAttribute("href")
      const { data: run } = await client.json("GET", `/api/${made?.slice(2)}`)
      assert.strictEqual(run.cronJobId, job.id)
      await page.close()
    })

    it("replace the policy of an agent as a whole, by its form", async () => {
      const opened = await open()
      const { page, server, token, workspaceId } = opened
      const client = makeClient(server.baseUrl, token)
      const go = await signedIn(opened)
      await go("agents/new")
      await page.getByRole("textbox", { name: "Name" }).fill("Careful")
      await page.getByRole("button", { name: "Create agent" }).click()
      await page.getByRole("heading", { level: 1, name: "Careful" }).waitFor()
      await page.getByRole("button", { name: "Change policy…" }).click()
      await page.getByRole("button", { name: "Add a rule" }).click()
      await page.getByRole("button", { name: "Replace policy" }).click()
      await page.getByText("must be 1 to 200 characters").waitFor()
      await page.getByRole("combobox", { name: "Rule 1: name of the tool" }).fill("re*")
      await page.getByText("Now: remember, recall.").waitFor()
      await page.getByRole("combobox", { name: "Rule 1: what may be done" }).selectOption("deny")
      assert.deepStrictEqual(await barriers(opened), [])
      await page.getByRole("button", { name: "Replace policy" }).click()
      await page.getByRole("dialog").waitFor({ state: "detached" })
      const { data: agents } = await client.json("GET", `/api/agents?workspaceId=${workspaceId}`)
      const { data: policy } = await client.json("GET", `/api/agents/${agents[0].id}/policy`)
      assert.deepStrictEqual(policy, {
        autonomyLevel: null,
        connectorIds: null,
        tools: [{ match: "re*", rule: "deny" }],
        maxSteps: null,
        maxSeconds: null
      })
      await page.getByText("re*").waitFor()
      assert.deepStrictEqual(await barriers(opened), [])
      await page.close()
    })
  },
  async () => {
    await builtConsole()
    return {}
  }
)
