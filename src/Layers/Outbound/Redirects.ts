import { AddressRefused } from "../../Schemas/Outbound.ts"
import { type Outgoing, plain } from "./Outgoing.ts"

const limit = 5
const ofBody = ["content-encoding", "content-language", "content-length", "content-location", "content-type"]

/**
 * Sends a request and follows at most five redirects, within the origin or from http: to https: of the same
 * host: the headers may hold credentials under any name. Others are refused before anything is sent there.
 */
export const follow = async <A extends Pick<Response, "body" | "headers" | "status">>(
  first: Outgoing,
  send: (request: Outgoing) => Promise<A>
): Promise<A> => {
  let request = first
  for (let hops = 0; ; hops++) {
    const response = await send(request)
    const location = response.headers.get("location")
    if (location === null || ![301, 302, 303, 307, 308].includes(response.status)) return response
    await response.body?.cancel().catch(() => undefined)
    if (hops === limit) {
      throw new AddressRefused({ error: `${first.url.hostname} redirects more than ${limit} times` })
    }
    request = redirected(request, response.status, location)
  }
}

/** The request that a redirect asks for, as `fetch` makes it. */
export const redirected = (from: Outgoing, status: number, location: string): Outgoing => {
  const url = plain(location, from.url)
  if (!isSameServer(from.url, url)) {
    throw new AddressRefused({
      error: `${from.url.host} redirects to ${url.origin}, and redirects to another origin are not followed`
    })
  }
  const isRead = from.method === "GET" || from.method === "HEAD"
  if (status === 303 ? !isRead : status < 303 && from.method === "POST") {
    const headers = new Headers(from.headers)
    for (const name of ofBody) headers.delete(name)
    return { url, method: "GET", headers, body: null }
  }
  if (from.body instanceof ReadableStream) {
    throw new AddressRefused({
      error: `${from.url.host} redirects a request whose body is a stream, which can't be sent again`
    })
  }
  return { ...from, url }
}

const isSameServer = (from: URL, to: URL): boolean =>
  from.origin === to.origin ||
  (from.hostname === to.hostname && to.protocol === "https:" && from.port === "" && to.port === "")
