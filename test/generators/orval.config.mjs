/** Requests go through our own fetch: orval's would read a stream of events to its end, as one text. */
export default {
  agentd: {
    input: "generated/openapi.json",
    output: {
      target: "generated/orval.ts",
      client: "fetch",
      override: { mutator: { path: "clients/OrvalFetch.ts", name: "orvalFetch" } }
    }
  }
}
