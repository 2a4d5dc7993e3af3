import chromium from "@sparticuz/chromium"
import { type Browser, chromium as playwright } from "playwright-core"

/** Only ends what hangs. */
const limitMillis = 240_000

/** A name of this machine that a browser trusts no more than that of any other. */
export const untrustedHost = "agentd.test"

const launch = async (): Promise<Browser> =>
  playwright.launch({
    executablePath: await chromium.executablePath(),
    // Root may not use its sandbox, and what it opens here is our own.
    args: ["--headless=shell", "--no-sandbox", `--host-resolver-rules=MAP ${untrustedHost} 127.0.0.1`],
    timeout: limitMillis
  })

/** A Chromium, or why there is none on this machine. */
export const browser: Browser | string = await launch().catch(
  (cause: Error) => `${cause.message}`.split("\n")[0] ?? ""
)

/** A page that waits for what it is asked to find however long that takes. */
export const openPage = async (opened: Browser) => {
  const page = await opened.newPage({ viewport: { width: 1400, height: 1000 } })
  page.setDefaultTimeout(limitMillis)
  const complaints: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text())
  })
  page.on("pageerror", ({ message }) => complaints.push(message))
  return { page, complaints }
}
