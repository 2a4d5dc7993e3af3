import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { WebhookOutbox } from "../../src/Services/WebhookOutbox.ts"
import type { It } from "../support/Backends.ts"
import { makeWorkspace } from "../support/Fixtures.ts"
import { makeWebhook, tell } from "../support/Webhooks.ts"

export const suite = (it: It) =>
  describe("WebhookOutbox", { concurrent: false }, () => {
    it.effect("gives each delivery with its webhook and its event, and leases it", () =>
      Effect.gen(function* () {
        const outbox = yield* WebhookOutbox
        const workspaceId = yield* makeWorkspace
        const webhook = yield* makeWebhook(workspaceId)
        const ids = yield* tell([webhook])
        const claimed = yield* outbox.claim({ limit: 10, perWebhook: 4, leaseMillis: 30_000 })
        assert.deepStrictEqual(
          claimed.deliveries.map(({ id, attempt, webhook, event }) => ({
            id,
            attempt,
            webhook,
            event: event.type
          })),
          [{ id: ids[0], attempt: 1, webhook, event: "run.completed" }]
        )
        assert.isTrue(claimed.isUsed)
        assert.isAbove(claimed.untilNextMillis ?? 0, 20_000)
      })
    )
  })
