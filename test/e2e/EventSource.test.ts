import { assert, it } from "@effect/vitest"
import { inBrowser } from "../support/InBrowser.ts"
import { until } from "../support/Until.ts"

/** What a page does: signs in, sends a message, breaks off after three events, and lets an EventSource read it. */
const script = (token: string, message: object) => `(async () => {
  const json = { "content-type": "application/json" }
  const signedIn = await fetch("/api/session", {
    method: "POST", headers: { authorization: "Bearer ${token}" }
  })
  if (!signedIn.ok) throw new Error(await signedIn.text())
  const leaving = new AbortController()
  const answer = await fetch("/api/chat/messages", {
    method: "POST", headers: json, body: ${JSON.stringify(JSON.stringify(message))}, signal: leaving.signal
  })
  let text = ""
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  while (text.split("\\n\\n").length <= 3) text += (await reader.read()).value
  leaving.abort()
  const turnId = /"turnId":"(\\w+)"/.exec(text)[1]
  const seen = []
  window.source = new EventSource("/api/runs/" + turnId + "/events")
  for (const name of ["conversation", "status", "tool_call", "tool_result", "done", "error"]) {
    source.addEventListener(name, (event) => {
      if (event.data !== undefined) seen.push([Number(event.lastEventId), name])
    })
  }
  await new Promise((done) => source.addEventListener("done", done))
  return seen
})()`

inBrowser("a chat in a browser", (open) => {
  it("is read by an EventSource with a cookie, which stops by itself behind the end", async () => {
    const { page, server, token, workspaceId } = await open()
    const answers: Array<readonly [status: number, lastId: string | undefined]> = []
    page.on("response", async (response) => {
      if (!response.url().endsWith("/events")) return
      answers.push([response.status(), (await response.request().allHeaders())["last-event-id"]])
    })
    await page.goto(`${server.baseUrl}/docs`)
    const seen = (await page.evaluate(
      script(token, { workspaceId, content: "call current_time {}" })
    )) as ReadonlyArray<readonly [id: number, name: string]>
    assert.deepStrictEqual(
      seen.map(([id]) => id),
      seen.map((_, index) => index + 1)
    )
    assert.strictEqual(seen.at(-1)?.[1], "done")
    const closed = 2
    await until(
      async () => (await page.evaluate("source.readyState")) === closed && answers.length >= 2,
      "the EventSource stops"
    )
    assert.deepStrictEqual(answers, [
      [200, undefined],
      [204, `${seen.length}`]
    ])
  })
})
