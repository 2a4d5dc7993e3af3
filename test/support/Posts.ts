import type { Outbound } from "../../src/Services/Outbound.ts"

/** Posts with a `fetch`, for a way out that is none. */
export const postBy =
  (fetch: typeof globalThis.fetch): Outbound["Service"]["post"] =>
  async (url, { body, headers, signal }) => {
    const sent = { method: "POST", headers: { ...headers }, body: body as Uint8Array<ArrayBuffer>, signal }
    const response = await fetch(url, { ...sent, redirect: "manual" })
    return {
      status: response.status,
      letGo: async (_, until) => {
        until.addEventListener("abort", () => void response.body?.cancel().catch(() => undefined))
        await response.body?.cancel().catch(() => undefined)
      }
    }
  }
