import { sleep } from "../../test/support/Durability.ts"
import { type Body, bodyOf, listen } from "../../test/support/ToolServer.ts"
import { type Answer, type Cost, costOf, type Priced } from "./Asked.ts"

const inputPerMillion = 2
const outputPerMillion = 8

/** What it says that an answer read and wrote: another number for each that is asked for again. */
const priceOf = ({ attempt, job, step }: Answer): Cost => {
  const inputTokens = 300 + 100 * step + (job % 7) + attempt
  const outputTokens = 200 + ((job * 31 + step * 17 + attempt * 43) % 200)
  return {
    inputTokens,
    outputTokens,
    nanos: inputTokens * inputPerMillion * 1000 + outputTokens * outputPerMillion * 1000
  }
}

/** By what it said, which is in the journal. */
export const answersIn = (texts: ReadonlyArray<string>): ReadonlyArray<Answer> =>
  texts.map((text) => {
    const [, job, step, attempt] = /answer of job (\d+), step (\d+), attempt (\d+)/.exec(text) ?? []
    return { job: Number(job), step: Number(step), attempt: Number(attempt) }
  })

/**
 * A model that speaks as OpenAI does and has a price: for `job <n>` it calls `current_time` in each of `toolSteps` answers,
 * and then says that it is done. It notes what it was asked for, also where nobody waited for the end of it, and says
 * which answer it is.
 */
export const startPricedModel = async (toolSteps: number, millis: number) => {
  const asked: Array<Priced> = []
  let unlimited = 0
  const { base, close } = await listen(async (request, response) => {
    const body = await bodyOf(request)
    const prompt = JSON.stringify(body.messages.find(({ role }: Body) => role === "user").content)
    const job = Number(/job (\d+)/.exec(prompt)?.[1])
    const step = body.messages.filter(({ role }: Body) => role === "tool").length
    const attempt = asked.filter((other) => other.job === job && other.step === step).length
    const cost = priceOf({ job, step, attempt })
    asked.push({ job, step, attempt, ...cost })
    if (!(body.max_tokens >= cost.outputTokens)) unlimited++
    const send = (choices: ReadonlyArray<object>, more: object = {}) =>
      response.write(
        `data: ${JSON.stringify({ id: `${job} ${step} ${attempt}`, object: "chat.completion.chunk", created: 1, model: "priced", choices, ...more })}\n\n`
      )
    const say = (delta: object, finish_reason: string | null = null) =>
      send([{ index: 0, delta, finish_reason }])
    response.writeHead(200, { "content-type": "text/event-stream" })
    say({ role: "assistant", content: `answer of job ${job}, step ${step}, attempt ${attempt}` })
    await sleep(millis)
    if (step < toolSteps) {
      const called = { name: "current_time", arguments: "{}" }
      say({ tool_calls: [{ index: 0, id: `call_${job}_${step}`, type: "function", function: called }] })
      say({}, "tool_calls")
    } else say({}, "stop")
    const { inputTokens: prompt_tokens, outputTokens: completion_tokens } = cost
    send([], { usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens } })
    response.end("data: [DONE]\n\n")
  })
  return {
    close,
    baseUrl: `${base}/v1`,
    pricing: { inputPerMillion, outputPerMillion },
    asked: asked as ReadonlyArray<Priced>,
    /** How many requests did not say how long the answer may be. */
    unlimited: () => unlimited,
    /** All that it was asked for, journaled or not. */
    sum: () => costOf(asked)
  }
}
