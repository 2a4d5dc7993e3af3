import { resolve } from "node:path"
import { rolldown } from "rolldown"
import { listen } from "./ToolServer.ts"

const root = resolve(import.meta.dirname, "../..")

/**
 * Another origin: what it serves is one page, with this script. `base` is of the site 127.0.0.1, `elsewhere` of another site.
 */
export const servePage = async (script = "") => {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>a page</title><div id="root"></div>
<script type="module">${script.replaceAll("</script", "<\\/script")}</script></html>`
  const { base, close } = await listen(async (request, response) => {
    if (request.url?.startsWith("/favicon.ico") === true) return void response.writeHead(204).end()
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page)
  })
  return { base, elsewhere: base.replace("127.0.0.1", "localhost"), close }
}

/** The page of `test/page`, which talks by `useChat`, as one script for a browser. */
export const bundleOfPage = async (): Promise<string> => {
  const made = await rolldown({
    cwd: root,
    input: "test/page/Chat.tsx",
    tsconfig: "test/page/tsconfig.json",
    platform: "browser",
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    logLevel: "silent"
  })
  const { output } = await made.generate({ format: "esm", minify: true })
  return output[0].code
}
