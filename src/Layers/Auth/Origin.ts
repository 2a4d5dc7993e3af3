import * as Cors from "../../Schemas/Cors.ts"
import { isForwardedHttps } from "../../Schemas/Session.ts"

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"])

/**
 * Whether a request with a cookie may be acted on: one that changes something must come from a page of
 * this origin, of one that the operator has named, or from a program that is no browser (CONTRACT.md section 2, 403).
 */
export const mayAct = (
  method: string,
  headers: Readonly<Record<string, string | undefined>>,
  named: Cors.Origins
): boolean => {
  if (safeMethods.has(method)) return true
  const { origin } = headers
  const isNamed = origin !== undefined && Cors.mayBringCookie(named, origin, headers["x-forwarded-proto"])
  return isNamed || isSameOrigin(headers)
}

const isSameOrigin = (headers: Readonly<Record<string, string | undefined>>): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined && site !== "same-origin" && site !== "none") return false
  const { host, origin } = headers
  if (origin === undefined) return true
  const from = URL.parse(origin)
  // A page in the clear may be anybody's. That a proxy does not say `https` is no reason to refuse who came so.
  const isDowngrade = from?.protocol === "http:" && isForwardedHttps(headers["x-forwarded-proto"])
  return host !== undefined && from?.host === host.toLowerCase() && !isDowngrade
}
