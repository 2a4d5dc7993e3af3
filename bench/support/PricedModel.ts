import { sleep } from "../../test/support/Durability.ts"
import { type Body, bodyOf, listen } from "../../test/support/ToolServer.ts"

const inputPerMillion = 2
const outputPerMillion = 8

/** What it says that the answer to a step of a job read and wrote: the same whenever it is asked. */
export const usageOf = (job: number, step: number) => ({
  prompt_tokens: 300 + 100 * step + (job % 7),
  completion_tokens: 200 + ((job * 31 + step * 17) % 200)
})

/** In billionths of a US dollar. */
const nanosOf = ({ completion_tokens, prompt_tokens }: ReturnType<typeof usageOf>) =>
  prompt_tokens * inputPerMillion * 1000 + completion_tokens * outputPerMillion * 1000

/**
 * A model that speaks as OpenAI does and has a price: for `job <n>` it calls `current_time` in each of `toolSteps` answers,
 * and then says that it is done. It sums what it was asked for, also where nobody waited for the end of it.
 */
export const startPricedModel = async (toolSteps: number, millis: number) => {
  const asked = new Map<string, number>()
  let nanos = 0
  let tokens = 0
  let most = 0
  let unlimited = 0
  const { base, close } = await listen(async (request, response) => {
    const body = await bodyOf(request)
    const prompt = JSON.stringify(body.messages.find(({ role }: Body) => role === "user").content)
    const job = Number(/job (\d+)/.exec(prompt)?.[1])
    const step = body.messages.filter(({ role }: Body) => role === "tool").length
    const usage = usageOf(job, step)
    const key = `${job} ${step}`
    asked.set(key, (asked.get(key) ?? 0) + 1)
    nanos += nanosOf(usage)
    tokens += usage.prompt_tokens + usage.completion_tokens
    most = Math.max(most, nanosOf(usage))
    if (!(body.max_tokens >= usage.completion_tokens)) unlimited++
    const send = (choices: ReadonlyArray<object>, more: object = {}) =>
      response.write(
        `data: ${JSON.stringify({ id: key, object: "chat.completion.chunk", created: 1, model: "priced", choices, ...more })}\n\n`
      )
    const say = (delta: object, finish_reason: string | null = null) =>
      send([{ index: 0, delta, finish_reason }])
    response.writeHead(200, { "content-type": "text/event-stream" })
    say({ role: "assistant", content: `step ${step}` })
    await sleep(millis)
    if (step < toolSteps) {
      const called = { name: "current_time", arguments: "{}" }
      say({ tool_calls: [{ index: 0, id: `call_${job}_${step}`, type: "function", function: called }] })
      say({}, "tool_calls")
    } else say({}, "stop")
    send([], { usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens } })
    response.end("data: [DONE]\n\n")
  })
  return {
    close,
    baseUrl: `${base}/v1`,
    pricing: { inputPerMillion, outputPerMillion },
    /** How often each step of each job was asked for. */
    asked,
    /** All that it was asked for. */
    sum: () => ({
      nanos,
      tokens,
      most,
      unlimited,
      calls: Array.from(asked.values()).reduce((a, b) => a + b, 0)
    })
  }
}
