import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { version } from "../../Schemas/Version.ts"
import { BuiltConsole, type ConsoleFile } from "../../Services/ConsoleFiles.ts"
import { unbuilt } from "./Home.ts"
import { encodings, isKnown, takes } from "./Negotiation.ts"
import { problemResponse } from "./Problems.ts"

/** The console runs what is served here alone, and makes no markup of texts: whatever a model or a tool says is text. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

/** Other addresses lead to what differs by `Accept`; whose name has a hash in it is the same for ever. */
const headersOf = (name: string): Readonly<Record<string, string>> =>
  name === "index.html"
    ? { "cache-control": "no-cache", "content-security-policy": policy, vary: "Accept, Accept-Encoding" }
    : { "cache-control": "public, max-age=31536000, immutable", vary: "Accept-Encoding" }

const sent = (name: string, file: ConsoleFile, request: HttpServerRequest) => {
  const head = { ...headersOf(name), etag: file.etag }
  if (isKnown(request.headers["if-none-match"], file.etag))
    return HttpServerResponse.empty({ status: 304, headers: head })
  const encoding = encodings.find(
    (each) => file.encoded[each] !== undefined && takes(request.headers["accept-encoding"], each)
  )
  const { [encoding ?? "br"]: encoded } = file.encoded
  return encoding === undefined || encoded === undefined
    ? HttpServerResponse.uint8Array(file.body, { contentType: file.contentType, headers: head })
    : HttpServerResponse.uint8Array(encoded, {
        contentType: file.contentType,
        headers: { ...head, "content-encoding": encoding }
      })
}

const problem = (sentence: string) => problemResponse(404, { vary: "Accept" }, sentence)

/** The web console for a browser that opens the address of agentd, and a sentence for everybody else. */
export const layer = Layer.unwrap(
  Effect.map(BuiltConsole, (built) => {
    const home = Effect.gen(function* () {
      const request = yield* HttpServerRequest
      if (request.headers.accept?.includes("text/html") !== true) {
        return problem(`this is agentd ${version}: its endpoints are under /api, see /docs and /openapi.json`)
      }
      const index = (yield* built)?.get("index.html")
      return index === undefined ? unbuilt : sent("index.html", index, request)
    })

    /** What is no name of a file of the console is none, whatever path it would make. */
    const asset = Effect.gen(function* () {
      const request = yield* HttpServerRequest
      const { file: name = "" } = yield* HttpRouter.params
      const file = name === "index.html" ? undefined : (yield* built)?.get(name)
      return file === undefined
        ? problemResponse(404, { "cache-control": "no-store" })
        : sent(name, file, request)
    })

    return Layer.merge(HttpRouter.add("GET", "/", home), HttpRouter.add("GET", "/console/:file", asset))
  })
)
