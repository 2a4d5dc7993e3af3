import { afterAll, assert, it } from "@effect/vitest"
import { inBrowser } from "../support/InBrowser.ts"
import { servePage } from "../support/PageServer.ts"

const [named, other] = await Promise.all([servePage(), servePage()])
afterAll(() => {
  named.close()
  other.close()
})

interface Asked {
  readonly method?: string
  readonly token?: string
  readonly json?: object
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly credentials?: "include" | "omit"
}

/** What a script of a page was told: null where the browser told it nothing but that it failed. */
interface Told {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

type Opened = Awaited<ReturnType<Parameters<Parameters<typeof inBrowser>[1]>[0]>>

/** A page of that origin, whose scripts ask the service. */
const at = async ({ page, server, token }: Opened, origin: string) => {
  await page.goto(origin)
  const ask = (path: string, asked: Asked = {}) => {
    const init = {
      method: asked.method ?? (asked.json === undefined && asked.body === undefined ? "GET" : "POST"),
      credentials: asked.credentials ?? "omit",
      headers: {
        ...(asked.token !== undefined && { authorization: `Bearer ${asked.token}` }),
        ...((asked.json ?? asked.body) !== undefined && { "content-type": "application/json" }),
        ...asked.headers
      },
      ...(asked.json !== undefined && { body: JSON.stringify(asked.json) }),
      ...(asked.body !== undefined && { body: asked.body })
    }
    return page.evaluate(`
      fetch(${JSON.stringify(`${server.baseUrl}${path}`)}, ${JSON.stringify(init)}).then(
        async (answer) => ({
          status: answer.status,
          headers: Object.fromEntries(answer.headers),
          text: await answer.text()
        }),
        () => null
      )`) as Promise<Told | null>
  }
  return { ask, token }
}

inBrowser(
  "pages of a named origin in a browser",
  (open) => {
    it("ask with a token, read every answer with its headers, and streams as they come", async () => {
      const opened = await open()
      const { workspaceId } = opened
      const { ask, token } = await at(opened, named.elsewhere)
      const list = `/api/agents?workspaceId=${workspaceId}`
      const found = await ask(list, { token, headers: { traceparent: "x", "x-stainless-lang": "js" } })
      assert.deepStrictEqual([found?.status, found?.text], [200, '{"data":[]}'])
      assert.match(found?.headers["x-request-id"] ?? "", /^req_/)
      assert.match(found?.headers.ratelimit ?? "", /^"default"/)

      const json = { workspaceId, name: "from a page" }
      const keyed = { token, json, headers: { "idempotency-key": "a-page-1" } }
      const made = await ask("/api/agents", keyed)
      assert.strictEqual(made?.status, 201)
      const again = await ask("/api/agents", keyed)
      assert.strictEqual(again?.text, made?.text)
      assert.strictEqual(again?.headers["idempotency-replayed"], "true")

      for (const [status, code, path, asked] of [
        [401, "unauthenticated", list, {}],
        [401, "unauthenticated", "/v1/models", {}],
        [400, "invalid_input", "/api/agents", { token, json: {} }],
        [403, "forbidden", "/api/agents?workspaceId=ws_none", { token }],
        [404, "not_found", "/api/agents/agent_none", { token }],
        [404, "not_found", "/api/nothing", { token }],
        [405, "method_not_allowed", "/api/agents", { token, method: "PUT" }],
        [413, "payload_too_large", "/api/tasks", { token, body: JSON.stringify("x".repeat(1_100_000)) }],
        [
          415,
          "unsupported_media_type",
          "/api/tasks",
          { token, body: "{}", headers: { "content-type": "text/csv" } }
        ]
      ] as const) {
        const answer = await ask(path, asked)
        assert.deepStrictEqual([answer?.status, answer?.headers["x-error-code"]], [status, code], path)
        assert.include(answer?.text, '"error"')
      }
      const stream = await ask("/api/chat/messages", { token, json: { workspaceId, content: "hello" } })
      assert.strictEqual(stream?.status, 200)
      assert.include(stream?.text, "event: done")
    })

    it("use the session of their site: begin it, change something, end it", async () => {
      const opened = await open()
      const { ask, token } = await at(opened, named.base)
      const credentials = "include" as const
      assert.strictEqual((await ask("/api/session", { method: "POST", token, credentials }))?.status, 201)
      assert.strictEqual(await opened.page.evaluate("document.cookie"), "", "no script sees it")
      const mine = await ask("/api/tokens", { credentials })
      assert.strictEqual(mine?.status, 200)
      assert.strictEqual((await ask("/api/tokens"))?.status, 401)
      const json = { name: "made with a cookie" }
      assert.strictEqual((await ask("/api/workspaces", { json, credentials }))?.status, 201)

      // The same browser with the same cookie, at origins that are not named.
      const strange = await at(opened, other.base)
      assert.isNull(await strange.ask("/api/tokens", { credentials }))
      assert.isNull(await strange.ask("/api/workspaces", { json: { name: "stolen" }, credentials }))
      assert.isNull(await strange.ask("/api/session", { method: "DELETE", credentials }))
      await opened.page.setContent(`
        <iframe name="into"></iframe>
        <form target="into" method="post" enctype="text/plain" action="${opened.server.baseUrl}/api/workspaces">
          <input name='{"name":"stolen","x":"' value='"}'></form>`)
      const [answer] = await Promise.all([
        opened.page.waitForResponse((response) => response.url().endsWith("/api/workspaces")),
        opened.page.evaluate("document.querySelector('form').submit()")
      ])
      assert.include([403, 415], answer.status())

      const back = await at(opened, named.base)
      const workspaces = await back.ask("/api/workspaces", { credentials })
      assert.include(workspaces?.text, json.name)
      assert.notInclude(workspaces?.text, "stolen")
      assert.strictEqual((await back.ask("/api/session", { method: "DELETE", credentials }))?.status, 200)
      assert.strictEqual((await back.ask("/api/tokens", { credentials }))?.status, 401)
    })

    it("have no session on another site, named or not", async () => {
      const opened = await open()
      const { ask, token } = await at(opened, named.elsewhere)
      const credentials = "include" as const
      assert.strictEqual((await ask("/api/session", { method: "POST", token, credentials }))?.status, 201)
      assert.strictEqual((await ask("/api/tokens", { credentials }))?.status, 401)
    })

    it("that are not named read nothing, and change nothing with a preflight", async () => {
      const opened = await open()
      const { ask, token } = await at(opened, other.elsewhere)
      assert.isNull(await ask("/health/live"))
      assert.isNull(await ask("/api/tokens", { token }))
      assert.isNull(await ask("/api/workspaces", { token, json: { name: "unseen" } }))
      const seen = await at(opened, named.elsewhere)
      assert.notInclude((await seen.ask("/api/workspaces", { token }))?.text, "unseen")
    })
  },
  () => ({ AGENTD_CORS_ORIGINS: `${named.base}, ${named.elsewhere}` })
)
