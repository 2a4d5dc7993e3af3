import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { version } from "../../Schemas/Version.ts"
import { problemResponse } from "./Problems.ts"

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#1f6feb"/><circle cx="8" cy="8" r="3" fill="#fff"/></svg>`

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>agentd</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}</style>
<h1>agentd ${version}</h1>
<p>A REST service that orchestrates AI agents. Its endpoints are under <code>/api</code> and take a bearer token.</p>
<ul>
<li><a href="/docs">Try every endpoint</a></li>
<li><a href="/openapi.json">OpenAPI document</a></li>
<li><a href="/health/ready">Ready?</a></li>
<li><a href="/metrics">Metrics</a></li>
</ul>
</html>
`

const home = Effect.map(HttpServerRequest, ({ headers }) =>
  headers.accept?.includes("text/html") === true
    ? HttpServerResponse.text(page, {
        contentType: "text/html; charset=utf-8",
        headers: {
          "content-security-policy":
            "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
            "frame-ancestors 'none'",
          vary: "Accept"
        }
      })
    : problemResponse(
        404,
        { vary: "Accept" },
        `this is agentd ${version}: its endpoints are under /api, see /docs and /openapi.json`
      )
)

/** What this is, for who opens its address: a page in a browser, and a sentence for everybody else. */
export const layer = Layer.merge(
  HttpRouter.add("GET", "/", home),
  HttpRouter.add(
    "GET",
    "/favicon.ico",
    HttpServerResponse.text(icon, {
      contentType: "image/svg+xml; charset=utf-8",
      headers: { "cache-control": "public, max-age=86400" }
    })
  )
)
