import { assert, describe, it } from "@effect/vitest"
import { Api } from "../../src/Api/Api.ts"
import { bodyLimit, bodyLimitText } from "../../src/Api/BodyLimit.ts"

/** CONTRACT.md section 10: tasks, chat, memory, agents, cron jobs; and what is asked through faces. */
const withLongTexts = [
  "POST /api/agents",
  "PATCH /api/agents/:id",
  "POST /api/cron-jobs",
  "PATCH /api/cron-jobs/:id",
  "POST /api/tasks",
  "POST /api/chat/messages",
  "POST /api/chat/memory",
  "POST /v1/chat/completions",
  "POST /v1/responses",
  "POST /api/ui/:agentId/chat"
]

describe("the limit of a body", () => {
  it("is 1 MiB where a long text is a field, and 64 KiB elsewhere", () => {
    const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))
    const long = endpoints.filter((endpoint) => bodyLimit(endpoint) === 1_048_576)
    assert.sameMembers(
      long.map(({ method, path }) => `${method} ${path}`),
      withLongTexts
    )
    for (const endpoint of endpoints) {
      const [limit, text] = long.includes(endpoint) ? [1_048_576, "1 MiB"] : [65_536, "64 KiB"]
      assert.strictEqual(bodyLimit(endpoint), limit)
      assert.strictEqual(bodyLimitText(bodyLimit(endpoint)), text)
    }
  })
})
