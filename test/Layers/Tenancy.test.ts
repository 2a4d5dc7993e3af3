import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import {
  bodies,
  isOfEnded,
  kindOf,
  kindOfField,
  makeWorld,
  type Operation,
  operations,
  requestOf
} from "../support/Operations.ts"
import { layerOffline } from "../support/Service.ts"
import { sentenceOf } from "../support/Web.ts"

/** Endpoints that take no id: nothing of another tenant can be named in them. */
const withoutIds = [
  "cronJobs.preview",
  "workspaces.list",
  "workspaces.create",
  "tokens.list",
  "tokens.create",
  "session.get",
  "session.start",
  "session.startByLink",
  "session.end",
  "system.live",
  "system.ready"
]

/** What differs between any two requests: which it is, and how many are left. */
const ofRequest: ReadonlySet<string> = new Set(["x-request-id", "ratelimit"])

const sees = {
  workspaceId: [403, "forbidden", "workspaceId: you are not a member of this workspace"],
  reference: [400, "invalid_input", "does not exist in this workspace"],
  path: [404, "not_found", "not found"],
  agent: [404, "not_found", "there is no"]
} as const

const expectedOf = (idField: string) => {
  const [where, name] = idField.split(" ")
  if (where === "header" || name === "workspaceId") return sees.workspaceId
  // Faces find an agent by its id or its name.
  if (idField === "path agentId" || idField === "path model") return sees.agent
  return where === "path" ? sees.path : sees.reference
}

type World = Effect.Success<typeof makeWorld>

/** A valid request of mine in every other respect, with `replaced` in one id field. */
const request = ({ mine, send }: World, operation: Operation, idField: string, replaced: string) => {
  const { path, ...sent } = requestOf(operation, mine.ids, { idField, id: replaced })
  return send(operation.method, path, { token: mine.token, ...sent })
}

describe("tenancy", () => {
  it("these tables know every endpoint", () => {
    const changing = operations.filter(({ method }) => ["POST", "PUT"].includes(method) || method === "PATCH")
    assert.sameMembers(
      changing.map(({ id }) => id),
      Object.keys(bodies)
    )
    assert.sameMembers(
      operations.filter(({ ids }) => ids.length === 0).map(({ id }) => id),
      withoutIds
    )
    for (const operation of operations) {
      if (operation.ids.includes("path id")) assert.notStrictEqual(kindOf(operation), "", operation.id)
    }
  })

  for (const operation of operations.filter(({ ids }) => ids.length > 0)) {
    it.effect(`${operation.id} tells nothing of another tenant, and changes nothing of it`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld
        const before = yield* Effect.forEach([world.other, world.mine], world.snapshot)
        for (const idField of operation.ids) {
          const kind = kindOfField(operation, idField.split(" ")[1] ?? "")
          const foreign = world.other.ids[kind] ?? ""
          assert.notStrictEqual(foreign, "", `no ${kind} of another tenant`)
          // Of the same form, so that only its absence can make a difference.
          const absent = `${foreign.slice(0, -4)}zzzz`
          const [status, code, sentence] = expectedOf(idField)
          const refused = yield* Effect.forEach([foreign, absent], (id) =>
            request(world, operation, idField, id)
          )
          for (const answer of refused) {
            assert.strictEqual(answer.status, status, `${idField} ${answer.text}`)
            assert.strictEqual(answer.headers.get("x-error-code"), code)
            assert.include(sentenceOf(answer), sentence)
          }
          const [ofForeign, ofAbsent] = refused.map(({ headers, text }) => ({
            text,
            headers: Array.from(headers).filter(([name]) => !ofRequest.has(name))
          }))
          assert.deepStrictEqual(ofForeign, ofAbsent, idField)
        }
        assert.deepStrictEqual(yield* Effect.forEach([world.other, world.mine], world.snapshot), before)
      }).pipe(Effect.provide(layerOffline()))
    )

    it.effect(`${operation.id} works with ids of one's own`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld
        // The events of a run come until it is over, and only then is it retried.
        if (isOfEnded(operation)) {
          yield* world.send("POST", `/api/runs/${world.mine.ids.run}/cancel`, { token: world.mine.token })
        }
        for (const idField of operation.ids.toReversed()) {
          const kind = kindOfField(operation, idField.split(" ")[1] ?? "")
          // This needs another user, and has a test of its own below.
          if (operation.id === "workspaces.removeMember") continue
          const answer = yield* request(world, operation, idField, world.mine.ids[kind] ?? "")
          assert.isBelow(answer.status, 300, `${idField} ${answer.text}`)
        }
      }).pipe(Effect.provide(layerOffline()))
    )
  }

  it.effect("a member who is added sees the workspace, and no longer once removed", () =>
    Effect.gen(function* () {
      const { mine, other, send } = yield* makeWorld
      const members = `/api/workspaces/${mine.ids.workspace}/members`
      const agents = `/api/agents?workspaceId=${mine.ids.workspace}`
      const email = `${other.ids.user}@example.org`
      const statuses = Effect.fnUntraced(function* () {
        const list = yield* send("GET", agents, { token: other.token })
        const one = yield* send("GET", `/api/agents/${mine.ids.agent}`, { token: other.token })
        return [list.status, one.status]
      })
      assert.deepStrictEqual(yield* statuses(), [403, 404])
      assert.strictEqual((yield* send("POST", members, { token: mine.token, json: { email } })).status, 201)
      assert.deepStrictEqual(yield* statuses(), [200, 200])
      const removal = yield* send("DELETE", `${members}/${other.ids.user}`, { token: mine.token })
      assert.strictEqual(removal.status, 200)
      assert.deepStrictEqual(yield* statuses(), [403, 404])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("nobody is told whether an e-mail is that of a user, nor how fast it may be asked", () =>
    Effect.gen(function* () {
      const { mine, other, send } = yield* makeWorld
      const path = `/api/workspaces/${mine.ids.workspace}/members`
      const ask = Effect.fnUntraced(function* (email: string) {
        const answer = yield* send("POST", path, { token: mine.token, json: { email } })
        const id = (answer.body as { readonly data?: { readonly userId: string } }).data?.userId ?? "none"
        const { body } = yield* send("GET", path, { token: mine.token })
        const listed = (body as { readonly data: ReadonlyArray<{ readonly userId: string }> }).data
        const shown = listed.filter(({ userId }) => userId === id)
        const removal = yield* send("DELETE", `${path}/${id}`, { token: mine.token })
        const told = [answer.text, JSON.stringify(shown), removal.text]
        return {
          told: told.map((text) => text.replaceAll(email, "the e-mail").replaceAll(id, "the id")),
          statuses: [answer.status, removal.status],
          headers: Array.from(answer.headers).filter(
            ([name]) => !/^(x-request-id|ratelimit|content-length)$/.test(name)
          ),
          id
        }
      })
      const { id, ...known } = yield* ask(`${other.ids.user}@example.org`)
      const { id: _, ...unknown } = yield* ask("nobody@example.org")
      assert.deepStrictEqual(known, unknown)
      assert.deepStrictEqual(known.statuses, [201, 200])
      assert.notStrictEqual(id, other.ids.user)
      for (let n = 2; n < 60; n++) yield* ask(`nobody${n}@example.org`)
      for (const email of [`${other.ids.user}@example.org`, "nobody@example.org"]) {
        const refused = yield* send("POST", path, { token: mine.token, json: { email } })
        assert.deepStrictEqual(
          [refused.status, refused.headers.get("x-error-code"), refused.headers.get("retry-after")],
          [429, "rate_limited", "60"]
        )
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
