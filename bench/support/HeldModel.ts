import { sleep } from "../../test/support/Durability.ts"
import { bodyOf, listen } from "../../test/support/ToolServer.ts"

const wordMillis = 10_000

/**
 * A model that speaks as OpenAI does: to `hold <seconds>` it answers after so long, with a word every 10 s on the way,
 * to all else after `quickMillis`. An answer that is broken off is over.
 */
export const startHeldModel = async (quickMillis: number) => {
  const held = new Set<object>()
  const { base, close } = await listen(async (request, response) => {
    const { messages } = await bodyOf(request)
    const last = JSON.stringify(messages.findLast(({ role }: { role: string }) => role === "user").content)
    const [, seconds] = /hold (\d+)/.exec(last) ?? []
    let isBroken = false
    response.once("close", () => {
      isBroken = true
      held.delete(response)
    })
    held.add(response)
    const send = (choices: ReadonlyArray<object>, more: object = {}) => {
      const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "mock", choices, ...more }
      response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    }
    const say = (content: string) => send([{ index: 0, delta: { content }, finish_reason: null }])
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (
      let left = seconds === undefined ? quickMillis : Number(seconds) * 1000;
      left > 0 && !isBroken;
      left -= wordMillis
    ) {
      await sleep(Math.min(left, wordMillis))
      say("so ")
    }
    send([{ index: 0, delta: {}, finish_reason: "stop" }])
    send([], { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })
    response.end("data: [DONE]\n\n")
  })
  return {
    close,
    /** How many questions wait for their answer. */
    held: () => held.size,
    env: {
      OPENAI_API_KEY: "sk-mock",
      OPENAI_BASE_URL: `${base}/v1`,
      AGENTD_DEFAULT_MODEL: "mock",
      AGENTD_ALLOW_PRIVATE_ADDRESSES: "true"
    }
  }
}
