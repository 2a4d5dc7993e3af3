/** No answer is taken for another type than it says, shown in a frame, or runs a script. */
export const securityHeaders = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer"
}
