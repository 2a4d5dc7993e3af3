import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { makeAccount, makeNodes, type Nodes, onDatabase, sleep, startModel } from "../support/Durability.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { parseEvents, runCommand } from "../support/Process.ts"
import { postUntilAnswered } from "../support/Repeating.ts"

const name = "an Idempotency-Key over two nodes"

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let url: string
  let model: Awaited<ReturnType<typeof startModel>>
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>
  const json = () => ({ workspaceId: account.workspaceId, prompt: "job 1 stream 1" })
  /** Of a node that is dead nobody answers at its address. */
  const at = (node: number) => () => nodes.server(node).baseUrl
  const post = (given: { path?: string; key?: string; json?: object; token?: string } = {}) =>
    postUntilAnswered([at(0), at(1)], {
      path: "/api/tasks",
      token: account.token,
      key: "one",
      json: json(),
      ...given
    })
  const count = async (table: "runs" | "idempotency_keys") => {
    const [row] = await onDatabase(
      url,
      (sql) => sql<{ count: number }>`select count(*)::int as count from ${sql(table)}`
    )
    return row?.count
  }
  const countMade = async () => {
    const entries = await onDatabase(url, (sql) => sql`select from audit_entries where action = 'run.create'`)
    return entries.length
  }

  beforeAll(async () => {
    model = await startModel(50)
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, model.env)
    await Promise.all([nodes.start(0), nodes.start(1)])
    account = await makeAccount(url, nodes)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    model?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  it("makes one run of 50 requests at once, while a node is killed, and answers all the same", async () => {
    const all = Array.from({ length: 50 }, () => post())
    // Some of them are under way on it.
    await sleep(5)
    await nodes.kill(1)
    const answers = await Promise.all(all)
    const [first] = answers
    assert.strictEqual(first?.status, 201, first?.text)
    for (const { status, text } of answers)
      assert.deepStrictEqual({ status, text }, { status: 201, text: first?.text })
    assert.isAtMost(answers.filter(({ isReplay }) => !isReplay).length, 1)
    assert.strictEqual(await count("runs"), 1)
    assert.strictEqual(await count("idempotency_keys"), 1)
    assert.strictEqual(await countMade(), 1)
  })

  it("refuses another body, and knows the key after both nodes were started anew", async () => {
    await nodes.kill(0)
    await Promise.all([nodes.start(0), nodes.start(1)])
    const again = await post()
    assert.deepStrictEqual([again.status, again.isReplay], [201, true])
    const other = await post({ json: { ...json(), prompt: "other" } })
    assert.strictEqual(other.status, 409, other.text)
    assert.strictEqual(await count("runs"), 1)
  })

  it("is another request of another user", async () => {
    const words = [
      "user",
      "create",
      "--email",
      "other@example.org",
      "--workspace",
      account.workspaceId,
      "--json"
    ]
    const { stdout } = await runCommand({ DATABASE_URL: url }, ...words)
    const { token } = JSON.parse(stdout)
    const theirs = await post({ token })
    assert.deepStrictEqual([theirs.status, theirs.isReplay], [201, false], theirs.text)
    assert.strictEqual(await count("runs"), 2)
  })

  it("gives a message that is sent again the same turn, on any node, from its first event", async () => {
    model.hold((job) => job === 9)
    const chat = { path: "/api/chat/messages", key: "chat", json: { ...json(), content: "job 9 stream 3" } }
    const all = Promise.all(Array.from({ length: 10 }, () => post(chat)))
    // They read while it is answered: none of them ends before it is let go.
    const early = await Promise.race([all, sleep(1_000)])
    assert.isUndefined(early)
    model.release()
    const streams = (await all).map(({ status, text }) => {
      assert.strictEqual(status, 200, text)
      return parseEvents(text)
    })
    const late = parseEvents((await post(chat)).text)
    for (const events of [...streams, late]) {
      assert.deepStrictEqual(events[0], late[0])
      assert.deepStrictEqual(events.at(-1), late.at(-1))
      assert.deepStrictEqual(
        [events[0]?.id, events[0]?.event, events.at(-1)?.event],
        [1, "conversation", "done"]
      )
    }
    assert.lengthOf(
      model.calls.filter(({ job }) => job === 9),
      1
    )
  })
})
