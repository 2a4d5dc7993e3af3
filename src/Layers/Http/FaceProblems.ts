import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { errorCodeHeader } from "../../Api/Errors.ts"

/** A problem in the form of the protocol that is spoken at the address (CONTRACT.md section 14). */
export const inItsForm = (
  url: string,
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  const code = response.headers[errorCodeHeader]
  if (code === undefined || !isOfOpenAi(url) || response.body._tag !== "Uint8Array") return response
  const { error } = JSON.parse(new TextDecoder().decode(response.body.body))
  const { "content-length": _, ...headers } = response.headers
  return HttpServerResponse.jsonUnsafe(
    { error: { message: error, type: typeOf(response.status), param: null, code } },
    { status: response.status, headers }
  )
}

const isOfOpenAi = (url: string): boolean => /^\/+v1([/?;#]|$)/iu.test(url)

const typeOf = (status: number): string => (status >= 500 ? "server_error" : "invalid_request_error")
