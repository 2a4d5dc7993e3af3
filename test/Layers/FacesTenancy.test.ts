import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type FaceRequest, mcp, namings } from "../support/Faces.ts"
import { makeWorld } from "../support/Operations.ts"
import { layerOffline } from "../support/Service.ts"
import type { Answer } from "../support/Web.ts"

/** Each is one of two agents of the same name, so that a name is none of the other tenant's alone. */
const makeFaceWorld = Effect.gen(function* () {
  const world = yield* makeWorld
  const ask = (token: string, { path, ...request }: FaceRequest) =>
    world.send(request.method, path, { token, ...request })

  const more = Effect.fnUntraced(function* (tenant: typeof world.mine, name: string) {
    const json = { workspaceId: tenant.workspaceId, name }
    yield* world.send("POST", "/api/agents", { token: tenant.token, json })
    const listed = yield* ask(tenant.token, mcp("tools/list", {}))
    const { result } = listed.body as { result: { tools: ReadonlyArray<{ name: string; title: string }> } }
    const agentTool = result.tools.find(({ title }) => title === name)?.name ?? ""
    const ids: Readonly<Record<string, string>> = { ...tenant.ids, agentName: name, agentTool }
    return { ...tenant, ids }
  })
  return {
    ...world,
    ask,
    mine: yield* more(world.mine, "Mine alone"),
    other: yield* more(world.other, "Theirs alone")
  }
})

/** What differs between any two requests: which it is, and how many are left. */
const ofRequest: ReadonlySet<string> = new Set(["x-request-id", "ratelimit", "content-length"])

/** An answer without what the request itself has said. */
const shown = ({ headers, status, text }: Answer, id: string) => ({
  status,
  text: text.replaceAll(id, "the id").replaceAll(/[\w-]{60,}/gu, "opaque"),
  headers: [...headers].filter(([name]) => !ofRequest.has(name))
})

/** Whether it did what was asked: MCP says that it did not with a status that says it did. */
const isDone = ({ status, text }: Answer) => status < 300 && !/"isError":true|"error":\{"code":-/u.test(text)

const absentLike = (id: string) => `${id.slice(0, -4)}zzzz`

describe("isolation of tenants in each face", () => {
  for (const { isOfEnded, isWaiting, kind, name, request, tellsNothing } of namings) {
    it.effect(
      `${name}: nothing of another tenant is seen or changed, and none is told from one that is not`,
      () =>
        Effect.gen(function* () {
          const { ask, mine, other, snapshot } = yield* makeFaceWorld
          const foreign = other.ids[kind] ?? ""
          assert.notStrictEqual(foreign, "", `no ${kind} of another tenant`)
          const before = yield* Effect.forEach([other, mine], snapshot)
          const absent = absentLike(foreign)
          const [ofForeign, ofAbsent] = [
            yield* ask(mine.token, request(foreign)),
            yield* ask(mine.token, request(absent))
          ]
          assert.deepStrictEqual(shown(ofForeign, foreign), shown(ofAbsent, absent))
          if (tellsNothing !== true) assert.isFalse(isDone(ofForeign), ofForeign.text)
          const told = ofForeign.text.replaceAll(foreign, "")
          for (const id of [...Object.values(other.ids), "secret"]) {
            assert.notInclude(told, id)
          }
          assert.deepStrictEqual(yield* Effect.forEach([other, mine], snapshot), before)
        }).pipe(Effect.provide(layerOffline()))
    )

    if (isWaiting === true) continue
    it.effect(`${name}: works with one's own`, () =>
      Effect.gen(function* () {
        const { ask, mine, send } = yield* makeFaceWorld
        if (isOfEnded === true) yield* send("POST", `/api/runs/${mine.ids.run}/cancel`, { token: mine.token })
        const answer = yield* ask(mine.token, request(mine.ids[kind] ?? ""))
        assert.isBelow(answer.status, 300, answer.text)
        if (isOfEnded !== true) assert.isTrue(isDone(answer), answer.text)
      }).pipe(Effect.provide(layerOffline()))
    )
  }
})
