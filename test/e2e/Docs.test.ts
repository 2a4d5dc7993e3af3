import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { browser, openPage } from "../support/Browser.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const name = "the page /docs in a browser"
const hasBrowser = typeof browser !== "string"

describe.skipIf(!hasBrowser)(hasBrowser ? name : `${name} (skipped: no Chromium: ${browser})`, () => {
  const dataDir = makeDataDir()
  let server: Server

  beforeAll(async () => {
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path })
  })
  afterAll(async () => {
    if (typeof browser !== "string") await browser.close()
    await server?.stop("SIGKILL")
    dataDir.remove()
  })

  it("signs in with a token, lists agents, and asks no other host", async () => {
    if (typeof browser === "string") return assert.fail(browser)
    const { token, workspaceId } = readCredentials(dataDir.path)
    const { complaints, page } = await openPage(browser)
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
    assert.deepStrictEqual(
      complaints.filter((text) => !text.includes("status of 400")),
      []
    )
  })
})
