import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AuditEntry } from "../../src/Schemas/Audit.ts"
import type { AgentId } from "../../src/Schemas/Ids.ts"
import { type Policy, unset } from "../../src/Schemas/Policy.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { now } from "../../src/Services/CurrentTime.ts"
import { Policies } from "../../src/Services/Policies.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { layerOffline, layerOver, makeTenant } from "../support/Service.ts"
import { eventually } from "../support/Until.ts"
import { type Answer, dataOf, isError, makeWeb } from "../support/Web.ts"

const onlyOwner = "only an owner of the workspace may let a policy allow more than it does"

/** A workspace with an agent and a job, its owner and a member of it. */
const makeWorld = Effect.gen(function* () {
  const { send } = yield* makeWeb
  const owner = yield* makeTenant()
  const member = yield* makeTenant()
  const { workspaceId } = owner
  yield* (yield* WorkspaceRepo).addMember(workspaceId, member.user.id, "member", yield* now)
  const post = (path: string, json: object) =>
    Effect.map(
      send("POST", path, { token: owner.token, json: { workspaceId, ...json } }),
      (answer) => dataOf<{ id: string }>(answer).id
    )
  const agent = yield* post("/api/agents", { name: "a" })
  const job = yield* post("/api/cron-jobs", { name: "c", schedule: "@daily", prompt: "p" })
  const paths = { agent: `/api/agents/${agent}/policy`, job: `/api/cron-jobs/${job}/policy` }
  const get = (path: string, { token } = owner) => send("GET", path, { token })
  const put = (path: string, json: unknown, { token } = owner) => send("PUT", path, { token, json })
  return { agent, get, member, owner, paths, post, put, send, workspaceId }
})

const isPolicy = (answer: Answer, policy: Partial<Policy>) => {
  assert.strictEqual(answer.status, 200, answer.text)
  assert.deepStrictEqual(dataOf<Policy>(answer), { ...unset, ...policy })
}

const kinds = ["agent", "job"] as const

describe("policies over HTTP", () => {
  for (const kind of kinds) {
    it.effect(`of ${kind}s say nothing at first, and are replaced as a whole`, () =>
      Effect.gen(function* () {
        const { get, paths, post, put } = yield* makeWorld
        const path = paths[kind]
        isPolicy(yield* get(path), {})
        const connectorId = yield* post("/api/connectors", { type: "custom" })
        const policy = {
          autonomyLevel: "autonomous",
          connectorIds: [connectorId],
          tools: [{ match: "remember", rule: "allow" }],
          maxSteps: 7,
          maxSeconds: 60
        } as const
        isPolicy(yield* put(path, { ...policy, other: 1 }), policy)
        isPolicy(yield* get(path), policy)
        isPolicy(yield* put(path, { maxSteps: 3 }), { maxSteps: 3 })
        isPolicy(yield* get(path), { maxSteps: 3 })
        isPolicy(yield* put(path, {}), {})
        isPolicy(yield* get(path), {})
      }).pipe(Effect.provide(layerOffline()))
    )

    it.effect(`of ${kind}s are widened by an owner alone, which is told where it is refused`, () =>
      Effect.gen(function* () {
        const { get, member, owner, paths, put, send, workspaceId } = yield* makeWorld
        const path = paths[kind]
        const wide = { tools: [{ match: "*", rule: "allow" }], maxSteps: 5 } as const
        isError(yield* put(path, wide, member), 403, "forbidden", onlyOwner)
        isPolicy(yield* get(path, member), {})
        isPolicy(yield* put(path, wide), wide)
        const narrow = { tools: [{ match: "x", rule: "deny" }], maxSteps: 4 } as const
        isPolicy(yield* put(path, narrow, member), narrow)
        isPolicy(yield* put(path, narrow, member), narrow)
        isError(yield* put(path, wide, member), 403, "forbidden", onlyOwner)
        isError(yield* put(path, {}, member), 403, "forbidden", onlyOwner)
        isPolicy(yield* get(path, member), narrow)
        yield* eventually(
          Effect.map(
            send("GET", `/api/audit?workspaceId=${workspaceId}&limit=1000`, { token: owner.token }),
            (log) => dataOf<ReadonlyArray<AuditEntry>>(log).some(({ action }) => action === "right.refuse")
          ),
          "the refusal is in the log"
        )
      }).pipe(Effect.provide(layerOffline()))
    )

    it.effect(`of ${kind}s have bounds, and their fields are named`, () =>
      Effect.gen(function* () {
        const { get, paths, put } = yield* makeWorld
        const path = paths[kind]
        const rules = (count: number) => Array.from({ length: count }, () => ({ match: "x", rule: "deny" }))
        const wrong: ReadonlyArray<readonly [object, string]> = [
          [{ tools: rules(101) }, "tools: must be at most 100 rules"],
          [{ tools: [{ match: "", rule: "deny" }] }, "tools.0.match: must be 1 to 200 characters"],
          [
            { tools: [{ match: "😀".repeat(201), rule: "deny" }] },
            "tools.0.match: must be 1 to 200 characters"
          ],
          [{ tools: [{ match: "a\u0000", rule: "deny" }] }, "tools.0.match: must not contain NUL characters"],
          [
            { connectorIds: Array.from({ length: 101 }, (_, n) => `c${n}`) },
            "connectorIds: must be at most 100 ids"
          ],
          [{ connectorIds: ["conn_unknown"] }, "connectorIds: "],
          [{ maxSteps: 0 }, "maxSteps: must be a whole number from 1 on"],
          [{ maxSteps: 51 }, "maxSteps: must be a whole number from 1 to 50"],
          [{ maxSeconds: 61 }, "maxSeconds: must be a whole number from 1 to 60"],
          [{ maxSteps: 1.5 }, "maxSteps: "],
          [{ maxSteps: "3" }, "maxSteps: "],
          [{ autonomyLevel: "wild" }, "autonomyLevel: "],
          [{ tools: null }, "tools: "],
          [{ tools: [{ match: "x", rule: "maybe" }] }, "tools.0.rule: "],
          [{ tools: [{ match: "x" }] }, "tools.0.rule: "]
        ]
        for (const [json, sentence] of wrong) {
          const answer = yield* put(path, json)
          isError(answer, 400, "invalid_input")
          const { error } = answer.body as { error: string }
          assert.isTrue(error.startsWith(sentence), `${JSON.stringify(json).slice(0, 80)} ${error}`)
        }
        isPolicy(yield* get(path), {})
        const most = {
          tools: Array.from({ length: 100 }, () => ({ match: "x".repeat(200), rule: "ask" as const })),
          maxSteps: 50,
          maxSeconds: 60
        }
        isPolicy(yield* put(path, most), most)
      }).pipe(Effect.provide(layerOffline({ maxSteps: 50, runMaxMillis: 60_000 })))
    )

    it.effect(
      `of ${kind}s keep a connector that was deleted, which is not there, and get no foreign one`,
      () =>
        Effect.gen(function* () {
          const { get, member, owner, paths, post, put, send } = yield* makeWorld
          const path = paths[kind]
          const [gone, kept] = [
            yield* post("/api/connectors", { type: "custom" }),
            yield* post("/api/connectors", { type: "custom" })
          ]
          const foreign = yield* send("POST", "/api/connectors", {
            token: member.token,
            json: { workspaceId: member.workspaceId, type: "custom" }
          })
          const policy = { connectorIds: [gone, kept, kept] }
          isPolicy(yield* put(path, policy), { connectorIds: [gone, kept] })
          yield* send("DELETE", `/api/connectors/${gone}`, { token: owner.token })
          isPolicy(yield* get(path), { connectorIds: [gone, kept] })
          isPolicy(yield* put(path, dataOf(yield* get(path)), member), { connectorIds: [gone, kept] })
          isPolicy(yield* put(path, { connectorIds: [gone] }, member), { connectorIds: [gone] })
          isPolicy(yield* put(path, { connectorIds: [] }, member), { connectorIds: [] })
          for (const id of [gone, dataOf<{ id: string }>(foreign).id]) {
            isError(yield* put(path, { connectorIds: [id] }), 400, "invalid_input")
          }
        }).pipe(Effect.provide(layerOffline()))
    )
  }

  it.effect("are gone with what they are of, and shown with nothing else", () =>
    Effect.gen(function* () {
      const { agent, get, owner, paths, put, send, workspaceId } = yield* makeWorld
      yield* put(paths.agent, { maxSteps: 3 })
      yield* put(paths.job, { maxSteps: 3 })
      const shown = [
        yield* get(`/api/agents/${agent}`),
        yield* get(`/api/agents?workspaceId=${workspaceId}`),
        yield* get(paths.job.replace("/policy", "")),
        yield* get(`/api/cron-jobs?workspaceId=${workspaceId}`),
        yield* send("PATCH", `/api/agents/${agent}`, { token: owner.token, json: { name: "b" } })
      ]
      for (const { status, text } of shown) {
        assert.strictEqual(status, 200, text)
        assert.notInclude(text, "policy")
        assert.notInclude(text, "maxSteps")
      }
      isPolicy(yield* get(paths.agent), { maxSteps: 3 })
      for (const path of Object.values(paths)) {
        yield* send("DELETE", path.replace("/policy", ""), { token: owner.token })
        isError(yield* get(path), 404, "not_found")
        isError(yield* put(path, {}), 404, "not_found")
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("are not widened by who only meant to narrow what an owner narrows meanwhile", () => {
    let meanwhile: Effect.Effect<unknown> = Effect.void
    const racing = Layer.effect(
      AgentRepo,
      Effect.map(AgentRepo, (repo) => ({
        ...repo,
        find: (id: AgentId) =>
          Effect.tap(repo.find(id), () =>
            Effect.suspend(() => {
              const change = meanwhile
              meanwhile = Effect.void
              return change
            })
          )
      }))
    )
    return Effect.gen(function* () {
      const { agent, get, member, owner, paths, put } = yield* makeWorld
      yield* put(paths.agent, { maxSteps: 9 })
      const policies = yield* Policies
      meanwhile = Effect.orDie(policies.setOfAgent(owner.user, agent as AgentId, { maxSteps: 2 }))
      isError(yield* put(paths.agent, { maxSteps: 5 }, member), 403, "forbidden", onlyOwner)
      isPolicy(yield* get(paths.agent), { maxSteps: 2 })
    }).pipe(Effect.provide(layerOver(racing as Layer.Layer<AgentRepo>)))
  })
})
