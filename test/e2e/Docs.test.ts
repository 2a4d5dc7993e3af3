import { assert, it } from "@effect/vitest"
import { inBrowser } from "../support/InBrowser.ts"
import { until } from "../support/Until.ts"

inBrowser("the page /docs in a browser", (open) => {
  it("signs in with a token, lists agents, and asks no other host", async () => {
    const { complaints, page, server, token, workspaceId } = await open()
    const asked: Array<string> = []
    page.on("request", (request) => asked.push(new URL(request.url()).origin))

    await page.goto(`${server.baseUrl}/docs`)
    await page.locator("input[placeholder=Token]:visible").first().fill(token)
    const list = page.getByText("List the agents of a workspace, oldest first").first()
    await page.getByRole("button", { name: "Open Group Agents" }).or(list).first().click()
    await list.click()
    await page.getByRole("button", { name: "Test Request (get /api/agents)", exact: true }).first().click()
    const value = page.locator(
      "xpath=//*[contains(@class,'cm-content') and normalize-space()='workspaceId']" +
        "/following::*[contains(@class,'cm-content')][1]"
    )
    await value.last().click()
    await page.keyboard.type(workspaceId)
    const send = async () => {
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.url().includes("/api/agents")),
        page.getByRole("button", { name: "Send" }).first().click()
      ])
      return { status: answer.status(), body: await answer.json() }
    }
    // What was typed is taken over by and by, and nothing says when.
    let answer = await send()
    await until(async () => {
      if (answer.status === 400) answer = await send()
      return answer.status !== 400
    }, "the request has its workspace")
    assert.deepStrictEqual(answer, { status: 200, body: { data: [] } })
    assert.deepStrictEqual([...new Set(asked)], [server.baseUrl])
    // What the page has been told is gone with it.
    const kept = await page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])"
    )
    assert.notInclude(`${kept}`, token)
    assert.deepStrictEqual(await page.evaluate("indexedDB.databases()"), [])
    assert.deepStrictEqual(
      complaints.filter((text) => !text.includes("status of 400")),
      []
    )
  })
})
