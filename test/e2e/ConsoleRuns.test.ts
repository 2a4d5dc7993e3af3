import { assert, it } from "@effect/vitest"
import { inBrowser } from "../support/InBrowser.ts"

inBrowser("the runs of the console", (open) => {
  it("sends a task, waits for who decides, and tells its steps along time", async () => {
    const { complaints, page, server, token } = await open()
    await page.goto(`${server.baseUrl}/#/runs`)
    await page.locator("input").first().fill(token)
    await page.keyboard.press("Enter")

    await page.getByRole("button", { name: "Send the first task" }).click()
    const prompt = 'Keep what matters\ncall remember {"key":"night","value":"quiet"}'
    await page.getByLabel("What is to be done").fill(prompt)
    await page.getByLabel("Autonomy").selectOption("supervised")
    await page.keyboard.press("Control+Enter")

    await page.getByRole("heading", { level: 1, name: "Keep what matters" }).waitFor()
    await page.getByRole("button", { name: "Approve" }).click()
    await page.getByRole("status").getByText("Completed").waitFor()
    const steps = page.getByRole("main").getByRole("listitem")
    const told = await steps.allInnerTexts()
    const shown = ["Waited to begin", "Model call 1", "Approval: remember", "remember", "Model call 2"]
    const found = shown.map((title) => told.findIndex((row) => row.includes(title)))
    assert.notInclude(found, -1, told.join("\n"))

    await steps.filter({ hasText: "Tool call" }).getByRole("button").first().click()
    await page.getByText('"quiet"').first().waitFor()
    await page.getByText("Raw JSON").click()
    await page.getByText('"autonomyLevel": "supervised"').waitFor()
    // Before the sign-in nobody is known.
    assert.deepStrictEqual(
      complaints.filter((complaint) => !complaint.includes("401")),
      []
    )
  })

  it("says why a run failed, and leads back to the list as it was narrowed", async () => {
    const { page, server, token, workspaceId } = await open()
    await page.goto(`${server.baseUrl}/#/runs?status=FAILED`)
    await page.locator("input").first().fill(token)
    await page.keyboard.press("Enter")
    await page.getByText("No run matches these filters.").waitFor()

    const answer = await fetch(`${server.baseUrl}/api/tasks`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ workspaceId, prompt: "Ask who is not there", selectedProvider: "openai" })
    })
    assert.strictEqual(answer.status, 201)
    await page.getByRole("link", { name: "Ask who is not there" }).waitFor()
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").getByText("there is no provider key for openai").waitFor()
    await page.getByRole("button", { name: "Retry" }).waitFor()

    await page.getByRole("link", { name: "← Runs" }).click()
    await page.getByRole("link", { name: "Ask who is not there" }).waitFor()
    assert.include(page.url(), "status=FAILED")
    await page.goto(`${server.baseUrl}/#/runs/run_of_nobody`)
    await page.getByText("There is no run run_of_nobody that you may see.").waitFor()
  })
})
