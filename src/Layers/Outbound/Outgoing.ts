import { AddressRefused } from "../../Schemas/Outbound.ts"

/** A request as it is sent: one hop of what a caller asked for. */
export interface Outgoing {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  /** Bytes can be sent again, a stream can't. */
  readonly body: Uint8Array | ReadableStream | null
}

/**
 * Reads what `fetch` was called with. Every body but a stream is read into memory, also that of a `Request`,
 * which no longer tells what it was made of. Refuses addresses that are not plain http: or https: ones.
 */
export const outgoing = async (
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  signal: AbortSignal | undefined
): Promise<Outgoing> => {
  const url = plain(input instanceof Request ? input.url : String(input))
  // What is bytes already needs no request to be read from.
  if (!(input instanceof Request) && init?.body instanceof Uint8Array) {
    return { url, method: init.method ?? "GET", headers: new Headers(init.headers), body: init.body }
  }
  const request = new Request(input instanceof Request ? input : url, {
    ...init,
    duplex: "half",
    signal: null
  })
  const { body, headers, method } = request
  if (body === null || isStream(init?.body)) return { url, method, headers, body }
  const read = body.pipeThrough(new TransformStream(), signal === undefined ? {} : { signal })
  return { url, method, headers, body: new Uint8Array(await new Response(read).arrayBuffer()) }
}

/** The address, if it is one that can be asked. The reasons never repeat what may be a secret in it. */
export const plain = (address: string, base?: URL): URL => {
  const url = URL.parse(address, base?.href)
  if (url === null) throw new AddressRefused({ error: "the address is not a valid URL" })
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new AddressRefused({
      error: `addresses with ${url.protocol} are not supported, only http: and https:`
    })
  }
  if (url.username !== "" || url.password !== "") {
    throw new AddressRefused({
      error: `the address of ${url.hostname} must not have a user name or a password`
    })
  }
  return url
}

const isStream = (body: unknown): boolean =>
  typeof body === "object" && body !== null && Symbol.asyncIterator in body
