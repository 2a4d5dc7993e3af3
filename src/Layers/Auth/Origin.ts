const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"])

/**
 * Whether a request with a cookie may be acted on: one that changes something must come from a page of
 * this origin, or from a program that is no browser (CONTRACT.md section 2, 403).
 */
export const isSameOrigin = (
  method: string,
  headers: Readonly<Record<string, string | undefined>>
): boolean => {
  if (safeMethods.has(method)) return true
  const site = headers["sec-fetch-site"]
  if (site !== undefined && site !== "same-origin" && site !== "none") return false
  const { host, origin } = headers
  return origin === undefined || (host !== undefined && hostOf(origin) === host.toLowerCase())
}

const hostOf = (origin: string): string | undefined =>
  URL.canParse(origin) ? new URL(origin).host : undefined
