import { assert, it } from "@effect/vitest"
import { inBrowser } from "../support/InBrowser.ts"
import { makeClient } from "../support/Process.ts"

inBrowser("a console that nobody looks at", (open) => {
  it("gives its stream back, and takes it up again behind the last event when it is seen", async () => {
    const { page, server, token, workspaceId } = await open()
    const { json } = makeClient(server.baseUrl, token)
    const prompt = 'call remember {"key":"a","value":"b"}'
    const { data } = await json("POST", "/api/tasks", { workspaceId, prompt, autonomyLevel: "supervised" })
    await page.request.post(`${server.baseUrl}/api/session`, {
      headers: { authorization: `Bearer ${token}` }
    })
    const isStream = (url: string) => url.endsWith(`/api/runs/${data.id}/events`)
    await page.clock.install()

    const first = page.waitForResponse((answer) => isStream(answer.url()))
    await page.goto(`${server.baseUrl}/#/runs/${data.id}`)
    assert.strictEqual((await first).status(), 200)
    await page.getByRole("button", { name: "Approve" }).first().waitFor()

    const show = (isHidden: boolean) =>
      page.evaluate(`
        Object.defineProperty(document, "hidden", { configurable: true, value: ${isHidden} })
        document.dispatchEvent(new Event("visibilitychange"))`)
    const given = page.waitForEvent("requestfailed", (request) => isStream(request.url()))
    await show(true)
    await page.clock.runFor(21_000)
    await given

    const again = page.waitForRequest((request) => isStream(request.url()))
    await show(false)
    assert.match((await again).headers()["last-event-id"] ?? "", /^[1-9]\d*$/u)
  })
})
