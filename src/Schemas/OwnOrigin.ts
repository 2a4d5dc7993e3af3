import { isNamed, type Origins } from "./Cors.ts"

type Headers = Readonly<Record<string, string | undefined>>

/** Hosts whose name is no name: nobody's DNS can say that they are somewhere else. */
const isPinned = ({ hostname }: URL): boolean =>
  hostname === "localhost" ||
  hostname.endsWith(".localhost") ||
  hostname.startsWith("[") ||
  /^\d+\.\d+\.\d+\.\d+$/u.test(hostname)

/**
 * Whether a request comes from no page, or from one that is let in: of these `origins`, or of the host itself. By the name of
 * a host alone that can't be told in the clear: a page of anywhere reaches this node under its own name, once its DNS
 * says that it is here (DNS rebinding). So it counts where the name has a certificate, or is an address.
 */
export const isOwnOrigin = (headers: Headers, origins: Origins): boolean => {
  const { host, origin } = headers
  if (origin === undefined) return true
  if (origins === "any" || isNamed(origins, origin)) return true
  const from = URL.parse(origin)
  return from !== null && from.host === host?.toLowerCase() && (from.protocol === "https:" || isPinned(from))
}
