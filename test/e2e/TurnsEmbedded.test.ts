import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { startModel, startTools } from "../support/Durability.ts"
import { readEvents } from "../support/EventReader.ts"
import { makeClient, makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"
import {
  assertAnswered,
  assertClean,
  assertGrowing,
  closes,
  named,
  report,
  says
} from "../support/TurnReaders.ts"
import { until } from "../support/Until.ts"

describe("chat turns and tasks on the embedded database", () => {
  const dataDir = makeDataDir()
  let model: Awaited<ReturnType<typeof startModel>>
  let tools: Awaited<ReturnType<typeof startTools>>
  let server: Server
  const start = async () => {
    server = await startServer({
      ...model.env(0),
      AGENTD_DATA_DIR: dataDir.path,
      AGENTD_ALLOW_PRIVATE_ADDRESSES: "true",
      // Each start waits for those of the process before it.
      AGENTD_LEASE_SECONDS: "6"
    })
  }
  beforeAll(async () => {
    model = await startModel(50)
    tools = await startTools(50)
    await start()
  })
  afterAll(async () => {
    await server?.stop("SIGKILL")
    model?.close()
    tools?.close()
    dataDir.remove()
  })

  it("kill -9 in the middle of an answer and a restart", async () => {
    const { token, workspaceId } = readCredentials(dataDir.path)
    const client = () => makeClient(server.baseUrl, token)
    const follow = (id: string, lastEventId: number) =>
      readEvents(`${server.baseUrl}/api/runs/${id}/events`, token, { lastEventId })
    const asked = (job: number) => model.calls.filter((call) => call.job === job)
    const connector = { workspaceId, type: "mcp", providerName: "mock", metadata: { url: tools.url } }
    assert.strictEqual((await client().request("POST", "/api/connectors", connector)).status, 201)

    model.hold()
    const json = { workspaceId, content: "job 1 stream 40" }
    const chat = await readEvents(`${server.baseUrl}/api/chat/messages`, token, { json })
    const work = { workspaceId, prompt: "job 2 count stream 40", autonomyLevel: "autonomous" }
    const { data: task } = await client().json("POST", "/api/tasks", work)
    const taskReader = await follow(task.id, 0)
    await Promise.all([says(chat, 10), says(taskReader, 10)])
    const { conversationId, turnId } = chat.events[0]?.data ?? {}
    await server.stop("SIGKILL")
    assert.deepStrictEqual(await Promise.all([chat.end, taskReader.end]), ["broken", "broken"])
    model.release()

    const starting = Date.now()
    await start()
    const listening = Date.now()
    const [rest, restOfTask] = [
      await follow(turnId, chat.lastId()),
      await follow(task.id, taskReader.lastId())
    ]
    await until(() => asked(1).length === 2 && asked(2).length === 3, "the model was asked again")
    const again = [asked(1)[1]?.at ?? 0, asked(2)[2]?.at ?? 0].map((at) => at - listening)
    const startMillis = listening - starting
    report(
      `embedded, after kill -9: asked again ${again.join(", ")} ms after it listens, ` +
        `which took ${startMillis} ms`
    )
    for (const reader of [rest, restOfTask]) assert.strictEqual(await closes(reader), "whole")

    const message = assertAnswered([...chat.events, ...rest.events])
    const { data: conversation } = await client().json("GET", `/api/chat/conversations/${conversationId}`)
    assert.deepStrictEqual(
      conversation.messages.map(({ role }: { role: string }) => role),
      ["USER", "ASSISTANT"]
    )
    assert.deepStrictEqual(conversation.messages[1], message)
    const replayed = await follow(turnId, 0)
    assert.strictEqual(await closes(replayed), "whole")
    assert.deepStrictEqual(assertClean(replayed.events, []), message)

    assert.deepStrictEqual(
      asked(2).map(({ step }) => step),
      [0, 1, 1]
    )
    assert.strictEqual(tools.uses.length, 1)
    const ofTask = [...taskReader.events, ...restOfTask.events]
    assertGrowing(ofTask)
    assert.strictEqual(ofTask.at(-1)?.event, "done")
    assert.strictEqual(named(ofTask, "tool_result").length, 1)
    const { data: run } = await client().json("GET", `/api/runs/${task.id}`)
    assert.deepInclude(run, { status: "COMPLETED", output: ofTask.at(-1)?.data.output, attempts: 2 })
    assert.strictEqual(
      run.output,
      asked(2)
        .at(-1)
        ?.words.map(({ word }) => word)
        .join("")
    )
  })

  it("a run that kills its process each time it asks the model ends, and no other with it", async () => {
    const { token, workspaceId } = readCredentials(dataDir.path)
    const asked = (job: number) => model.calls.filter((call) => call.job === job).length
    const submit = async (prompt: string) => {
      const task = { workspaceId, prompt, autonomyLevel: "autonomous" }
      return (await makeClient(server.baseUrl, token).json("POST", "/api/tasks", task)).data.id as string
    }
    const find = async (id: string) =>
      (await makeClient(server.baseUrl, token).json("GET", `/api/runs/${id}`)).data
    // They have finished steps, and are in their last answer at the first crashes.
    model.hold()
    const innocent = [11, 12, 13, 14, 15, 16, 17]
    const ids = await Promise.all(innocent.map((job) => submit(`job ${job}`)))
    await until(() => innocent.every((job) => asked(job) === 3), "all are in their last answer")
    const poison = await submit("job 20 stream 1")
    let crashes = 0
    for (; (await find(poison)).status !== "FAILED" && crashes < 6; crashes++) {
      if (crashes === 2) {
        model.release()
        model.hold((job) => job === 20)
      }
      await until(
        async () => asked(20) > crashes || (await find(poison)).status === "FAILED",
        "it asks again, or is over"
      )
      if ((await find(poison)).status === "FAILED") break
      await server.stop("SIGKILL")
      await start()
    }
    report(`embedded, a run that kills its process: FAILED after ${crashes} crashes`)
    assert.isAtMost(crashes, 5)
    assert.strictEqual((await find(poison)).error, "the worker was lost 4 times while it ran this")
    for (const id of ids) {
      await until(async () => (await find(id)).status !== "RUNNING", "the others are over")
      assert.strictEqual((await find(id)).status, "COMPLETED")
    }
  })
})
