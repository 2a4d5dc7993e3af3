/** No answer is taken for another type than it says, shown in a frame, or runs a script; none turns links or forms. */
const everywhere = {
  "content-security-policy":
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer"
}

/** For a year this host and those under it are asked over https alone (RFC 6797). */
const overHttps = { ...everywhere, "strict-transport-security": "max-age=31536000; includeSubDomains" }

/** What every answer has. A browser is bound to https only where it came so: in the clear nobody may say it. */
export const securityHeaders = (isHttps: boolean): Readonly<Record<string, string>> =>
  isHttps ? overHttps : everywhere
