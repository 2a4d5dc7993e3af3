import { listen } from "./ToolServer.ts"

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
