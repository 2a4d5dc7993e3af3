import { assert } from "@effect/vitest"
import { browser } from "./Browser.ts"

/** Only ends what hangs. */
const limitMillis = 240_000

export const schemes = ["light", "dark"] as const
export type Scheme = (typeof schemes)[number]

/** What a browser writes of every answer that is no success or breaks off: the page says it better. */
const isOfAnswer = (text: string): boolean =>
  /^Failed to load resource: (the server responded with|net::ERR_INCOMPLETE_CHUNKED_ENCODING)/u.test(text)

/** A browser of its own at the console, in which nobody is signed in. Everything that ought not to happen there is kept. */
export const openConsole = async (
  base: string,
  given: { readonly scheme?: Scheme; readonly width?: number } = {}
) => {
  if (typeof browser === "string") throw new Error(browser)
  const { scheme = "light", width = 1280 } = given
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: scheme,
    locale: "en-US",
    baseURL: base
  })
  const page = await context.newPage()
  page.setDefaultTimeout(limitMillis)
  const complaints: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error" && !isOfAnswer(message.text())) complaints.push(message.text())
  })
  page.on("pageerror", ({ message }) => complaints.push(message))
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog of a script: ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  page.on("request", (request) => {
    const url = new URL(request.url())
    if (url.origin !== new URL(base).origin && !["blob:", "data:"].includes(url.protocol)) {
      complaints.push(`a request to another origin: ${request.url()}`)
    }
  })
  await page.addInitScript(`addEventListener("securitypolicyviolation", ({ blockedURI, violatedDirective }) =>
    console.error("against the policy of the page: " + violatedDirective + " " + blockedURI))`)
  return {
    page,
    context,
    /** Opens a view by its address behind the hash. */
    view: (address: string) => page.goto(`/#/${address}`),
    /** Nothing has happened that ought not to. */
    isClean: () => assert.deepStrictEqual(complaints, []),
    close: () => context.close()
  }
}

export type Console = Awaited<ReturnType<typeof openConsole>>

/** Signs in by the API: for tests of what comes behind. */
export const signedIn = async ({ context }: Console, token: string): Promise<void> => {
  const answer = await context.request.post("/api/session", { headers: { authorization: `Bearer ${token}` } })
  assert.strictEqual(answer.status(), 201)
}
