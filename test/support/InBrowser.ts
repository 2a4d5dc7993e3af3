import { afterAll, beforeAll, describe } from "@effect/vitest"
import { browser, openPage } from "./Browser.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "./Process.ts"

/** A page of a browser that nothing has been asked for yet, beside a service of its own. */
const visit = async (server: Server, dataDir: string) => {
  if (typeof browser === "string") throw new Error(browser)
  return { server, ...readCredentials(dataDir), ...(await openPage(browser)) }
}

/** Tests in a real browser, skipped by name where there is none; of a service with these settings. */
export const inBrowser = (
  name: string,
  tests: (open: () => ReturnType<typeof visit>) => void,
  settings: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>> = () => ({})
) => {
  const missing = typeof browser === "string" ? `${name} (skipped: no Chromium: ${browser})` : undefined
  describe.skipIf(missing !== undefined)(missing ?? name, () => {
    const dataDir = makeDataDir()
    let server: Server

    beforeAll(async () => {
      server = await startServer({ AGENTD_DATA_DIR: dataDir.path, ...(await settings()) })
    })
    afterAll(async () => {
      if (typeof browser !== "string") await browser.close()
      await server?.stop("SIGKILL")
      dataDir.remove()
    })

    tests(() => visit(server, dataDir.path))
  })
}
