import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { TestClock } from "effect/testing"
import OpenAI from "openai"
import { Webhook } from "standardwebhooks"
import type { WebhookId } from "../../../src/Schemas/Ids.ts"
import { SecretBox } from "../../../src/Services/SecretBox.ts"
import { formerSecret, makeReceivers, type Sent, secret, soon } from "../../support/Receivers.ts"
import { layerAtRest } from "../../support/Service.ts"

/** Whether each library that receivers have takes it for a message of this secret. */
const verifiedBy = (with_: string, { body, headers }: Sent) =>
  Effect.promise(async () => {
    const verifiers = {
      standardwebhooks: () => new Webhook(with_).verify(body, headers),
      openai: () => new OpenAI({ apiKey: "none", webhookSecret: with_ }).webhooks.unwrap(body, headers),
      anthropic: () =>
        new Anthropic({ apiKey: "none", webhookKey: with_ }).beta.webhooks.unwrap(body, { headers })
    }
    const verified: Record<string, unknown> = {}
    for (const [name, verify] of Object.entries(verifiers)) {
      try {
        verified[name] = await verify()
      } catch {
        verified[name] = false
      }
    }
    return verified
  })

/** What docs/webhooks.md says for those who have no library. */
const [, written = ""] =
  /^```py\n([\s\S]*?)^```/m.exec(
    readFileSync(resolve(import.meta.dirname, "../../../docs/webhooks.md"), "utf8")
  ) ?? []
const hasPython = spawnSync("python3", ["--version"]).status === 0

const byPython = (with_: string, sent: Sent) => {
  const input = JSON.stringify([with_, sent.headers, sent.body])
  const call =
    "secret, headers, body = json.load(sys.stdin)\nprint(json.dumps(verify(secret, headers, body.encode())))"
  const { status, stdout } = spawnSync("python3", ["-c", `import sys\n${written}\n${call}`], {
    input,
    encoding: "utf8"
  })
  return status === 0 && JSON.parse(stdout)
}

const all = (value: unknown) => ({ standardwebhooks: value, openai: value, anthropic: value })

/** The libraries compare with the clock of the machine. */
const today = Effect.suspend(() => TestClock.setTime(Date.now()))

describe("what is sent", () => {
  it.effect.skipIf(!hasPython)("is verified by the lines of Python that the docs have", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.now() - 600_000)
      const { rows, sent, start, tell, webhook } = yield* makeReceivers
      const to = yield* webhook()
      yield* tell(to)
      const { stop } = yield* start
      yield* soon(() => rows[0]?.status === "delivered", "delivered")
      assert.isFalse(byPython(secret, sent[0] as Sent), "too old")
      yield* today
      yield* tell(to, { type: "run.completed", facts: { output: "Zoë 👩‍🚀" } })
      yield* soon(() => rows[1]?.status === "delivered", "delivered")
      const one = sent[1] as Sent
      assert.deepStrictEqual(byPython(secret, one), JSON.parse(one.body))
      assert.isFalse(byPython(formerSecret, one))
      assert.isFalse(byPython(secret, { ...one, body: one.body.replace("Zo", "zo") }))
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is verified by the libraries that receivers have, with its secret alone and untouched", () =>
    Effect.gen(function* () {
      yield* today
      const { rows, sent, start, tell, webhook } = yield* makeReceivers
      yield* tell(yield* webhook(), { type: "run.completed", facts: { output: 'Zoë 👩‍🚀 "x" \u2028 \\' } })
      const { stop } = yield* start
      yield* soon(() => rows[0]?.status === "delivered", "delivered")
      const one = sent[0] as Sent
      assert.deepStrictEqual(yield* verifiedBy(secret, one), all(JSON.parse(one.body)))
      assert.deepStrictEqual(yield* verifiedBy(formerSecret, one), all(false))
      assert.deepStrictEqual(
        yield* verifiedBy(secret, { ...one, body: one.body.replace("Zo", "zo") }),
        all(false)
      )
      const later = {
        ...one.headers,
        "webhook-timestamp": String(Number(one.headers["webhook-timestamp"]) + 1)
      }
      assert.deepStrictEqual(yield* verifiedBy(secret, { ...one, headers: later }), all(false))
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is signed by both secrets until a rotation is over, and then by the new one alone", () =>
    Effect.gen(function* () {
      yield* today
      const { rows, sent, start, tell, webhook } = yield* makeReceivers
      const id = "whk_rotated" as WebhookId
      const until = (millis: number) =>
        Effect.flatMap(SecretBox, (box) =>
          Effect.map(box.seal(id, Redacted.make(formerSecret)), (previousSealedSecret) => ({
            id,
            previousSealedSecret,
            previousUntil: new Date(Date.now() + millis)
          }))
        )
      yield* tell(yield* webhook(yield* until(3_600_000)))
      yield* tell(yield* webhook(yield* until(-60_000)))
      yield* tell(yield* webhook({ ...(yield* until(3_600_000)), previousSealedSecret: "v1.gone.x.y" }))
      const { stop } = yield* start
      yield* soon(() => rows.every(({ status }) => status === "delivered"), "delivered")
      for (const row of rows) {
        const one = sent.find(({ headers }) => headers["webhook-id"] === row.event.id) as Sent
        const isOfBoth = row === rows[0]
        assert.deepStrictEqual(yield* verifiedBy(secret, one), all(JSON.parse(one.body)))
        assert.deepStrictEqual(yield* verifiedBy(formerSecret, one), all(isOfBoth && JSON.parse(one.body)))
        assert.lengthOf((one.headers["webhook-signature"] ?? "").split(" "), isOfBoth ? 2 : 1)
      }
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )
})
