import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { version } from "../../Schemas/Version.ts"

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#1f6feb"/><circle cx="8" cy="8" r="3" fill="#fff"/></svg>`

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}" +
  "code{font-size:.9em}"
/** Of `style`, which a test compares. */
const styleHash = "sha256-MsNpJwnwD9rsAoJ9RmDPaKezEgtS1PFq55I3+oDcMKU="

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>agentd</title>
<style>${style}</style>
<main>
<h1>agentd ${version}</h1>
<p>A REST service that orchestrates AI agents. Its endpoints are under <code>/api</code> and take a bearer token.</p>
<p>Its web console would be here, but was not built. To build it, run <code>npm ci</code> with the development
packages (without <code>--omit=dev</code>), then <code>npm run build</code>, which says what fails, and start agentd
again. Everything else works without it.</p>
<ul>
<li><a href="/docs">Try every endpoint</a></li>
<li><a href="/openapi.json">OpenAPI document</a></li>
<li><a href="/health/ready">Ready?</a></li>
<li><a href="/metrics">Metrics</a></li>
</ul>
</main>
</html>
`

/** The page at `/` where there is no console. */
export const unbuilt = HttpServerResponse.text(page, {
  contentType: "text/html; charset=utf-8",
  headers: {
    "cache-control": "no-store",
    "content-security-policy":
      `default-src 'none'; style-src '${styleHash}'; img-src 'self'; base-uri 'none'; form-action 'none'; ` +
      "frame-ancestors 'none'",
    vary: "Accept"
  }
})

export const layer = HttpRouter.add(
  "GET",
  "/favicon.ico",
  HttpServerResponse.text(icon, {
    contentType: "image/svg+xml; charset=utf-8",
    headers: { "cache-control": "public, max-age=86400" }
  })
)
