import * as FindMyWay from "effect/http/FindMyWay"
import type { HttpMethod } from "effect/http/HttpMethod"
import { Api } from "../../Api/Api.ts"

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const satisfies ReadonlyArray<HttpMethod>

/** Says which methods a path takes, for `Allow`; none for a path that is unknown. */
export const makeAllowedMethods = (): ((url: string) => ReadonlyArray<string>) => {
  const router = FindMyWay.make<true>()
  for (const group of Object.values(Api.groups)) {
    for (const endpoint of Object.values(group.endpoints)) {
      router.on(endpoint.method, endpoint.path as FindMyWay.PathInput, true)
    }
  }
  for (const path of ["/", "/console/:file", "/docs", "/favicon.ico", "/metrics", "/openapi.json"] as const)
    router.on("GET", path, true)
  // A GET goes on with a stream alone.
  router.on("POST", "/mcp", true)
  return (url) =>
    methods
      .filter((method) => router.find(method, url) !== undefined)
      .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
}
