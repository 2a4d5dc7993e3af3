import type { LLMock } from "@copilotkit/aimock"
import {
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  Output,
  streamText,
  type ToolSet,
  tool
} from "ai"

/** What aimock says of the tokens of every answer. */
const usage = { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 }

interface Asked {
  readonly messages: ReadonlyArray<{
    readonly role: string
    readonly content: unknown
    readonly tool_calls?: unknown
  }>
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }>
  readonly tool_choice?: unknown
  readonly temperature?: number
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
}

const said = (content: unknown): string =>
  typeof content === "string" ? content : content === null ? "" : JSON.stringify(content)

const answer = ({ max_completion_tokens, max_tokens, messages, temperature, tool_choice, tools }: Asked) => {
  const last = messages.at(-1)
  const asked = messages.findLastIndex(({ role }) => role === "user")
  const question = said(messages[asked]?.content)
  const results = messages.slice(asked + 1).filter(({ role }) => role === "tool")
  const of = (role: string) => messages.filter((message) => message.role === role)
  const call = (name: string, argument: object) => ({ name, arguments: JSON.stringify(argument) })
  const called = results.map(({ content }) => said(content)).join(" and ")

  if (question.includes("one after the other")) {
    const city = ["Bonn", "Oslo"][results.length]
    return city === undefined
      ? { content: `It is ${called}.`, usage }
      : { toolCalls: [call("weather", { city })], usage }
  }
  if (question.includes("at the same time")) {
    if (last?.role === "tool") return { content: `It is ${called}.`, usage }
    return { toolCalls: ["Bonn", "Oslo"].map((city) => call("weather", { city })), usage }
  }
  if (question.includes("weather")) {
    if (last?.role === "tool") return { content: `I was told: ${called}.`, usage }
    return { toolCalls: [call("weather", { city: "Bonn" })], usage }
  }
  if (question.includes("must look")) {
    return tool_choice === "required" || JSON.stringify(tool_choice ?? "").includes("weather")
      ? { toolCalls: [call("weather", { city: "Rome" })], usage }
      : { content: `tool_choice was ${JSON.stringify(tool_choice)}`, usage }
  }
  if (question.includes("recipe")) {
    return { content: JSON.stringify({ name: "Toast", steps: ["Cut bread.", "Toast it."] }), usage }
  }
  if (question.includes("my name")) {
    const known = messages.map(({ content }) => /I am (\w+)/.exec(said(content))?.[1]).find(Boolean)
    const more = [of("user").length, of("assistant").length].join(" and ")
    return { content: `You are ${known ?? "unknown"} (${more} messages).`, usage }
  }
  if (question.includes("who you are")) {
    const isPirate = of("system").some(({ content }) => said(content).includes("pirate"))
    return { content: isPirate ? "Arr, a pirate." : "Nobody.", usage }
  }
  if (question.includes("how you are set")) {
    return { content: `${temperature} ${max_tokens ?? max_completion_tokens}`, usage }
  }
  if (question.includes("without end")) {
    return { content: "Once upon a time there was", finishReason: "length", usage }
  }
  if (question.includes("tools")) {
    const isOffered = tools?.some(({ function: { name } }) => name === "weather") === true
    return { content: isOffered ? "weather" : "none", usage }
  }
  return { content: "Hello to you. Zürich 🌍 says hello, too.", usage }
}

/** A model that does what the conversations below are about, whoever asks it, in pieces of five characters. */
export const scriptModel = (mock: LLMock) => {
  const script = (request: unknown) => answer(request as Asked)
  mock.on({ userMessage: "slowly" }, script, { chunkSize: 5, latency: 100 })
  mock.on({}, script, { chunkSize: 5 })
}

const city = jsonSchema<{ readonly city: string }>({
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false
})

const weather = tool({
  description: "Tells the weather of a city.",
  inputSchema: city,
  execute: async ({ city }) => `${city === "Oslo" ? "snowy" : "sunny"} in ${city}`
})

const failing = tool({
  description: "Tells the weather of a city.",
  inputSchema: city,
  execute: async (): Promise<string> => {
    throw new Error("no barometer")
  }
})

/** One that is not executed by itself: its call ends the answer. */
const unexecuted: ToolSet[string] = { description: "Tells the weather of a city.", inputSchema: city }

const recipe = Output.object({
  name: "recipe",
  schema: jsonSchema<{ readonly name: string; readonly steps: ReadonlyArray<string> }>({
    type: "object",
    properties: { name: { type: "string" }, steps: { type: "array", items: { type: "string" } } },
    required: ["name", "steps"],
    additionalProperties: false
  })
})

interface Step {
  readonly text: string
  readonly finishReason: string
  readonly toolCalls: ReadonlyArray<{ readonly toolName: string; readonly input: unknown }>
  readonly usage: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined }
}

/** What of a step everybody sees, whichever the protocol; the ids are those of who answers. */
const outline = ({ finishReason, text, toolCalls, usage: { inputTokens, outputTokens } }: Step) => ({
  text,
  finishReason,
  calls: toolCalls.map(({ input, toolName }) => [toolName, input]),
  tokens: [inputTokens, outputTokens]
})

/** Both ways to ask, with the same outcome. */
const ask = async (
  isStreamed: boolean,
  options: Parameters<typeof generateText>[0]
): Promise<{ steps: ReadonlyArray<ReturnType<typeof outline>>; text: string }> => {
  if (!isStreamed) {
    const { steps, text } = await generateText(options)
    return { steps: steps.map(outline), text }
  }
  const errors: Array<unknown> = []
  const streamed = streamText({ ...options, onError: ({ error }) => void errors.push(error) })
  let deltas = ""
  for await (const delta of streamed.textStream) {
    deltas += delta
  }
  if (errors.length > 0) throw errors[0]
  const [steps, text] = [await streamed.steps, await streamed.text]
  if (steps.map((step) => step.text).join("") !== deltas)
    throw new Error(`the deltas are not the text: ${deltas}`)
  return { steps: steps.map(outline), text }
}

/** One conversation, by `generateText` or by `streamText`: what came of it. */
type Talk = (isStreamed: boolean, model: LanguageModel) => Promise<unknown>

/** The conversations, each with what comes of it. */
export const talks: ReadonlyArray<{
  readonly name: string
  readonly talk: Talk
  readonly expected: unknown
  /** Why aimock's responses answer otherwise than OpenAI's. */
  readonly notAimocksResponses?: string
}> = [
  {
    name: "a text",
    talk: (isStreamed, model) => ask(isStreamed, { model, prompt: "Say hello." }),
    expected: {
      steps: [
        { text: "Hello to you. Zürich 🌍 says hello, too.", finishReason: "stop", calls: [], tokens: [11, 7] }
      ],
      text: "Hello to you. Zürich 🌍 says hello, too."
    }
  },
  {
    name: "a text that comes as it is made",
    talk: async (isStreamed, model) => {
      const asked = { model, prompt: "Say hello, slowly." }
      if (!isStreamed) return [true, (await generateText(asked)).text]
      const deltas: Array<string> = []
      for await (const delta of streamText(asked).textStream) deltas.push(delta)
      return [deltas.length > 1, deltas.join("")]
    },
    expected: [true, "Hello to you. Zürich 🌍 says hello, too."]
  },
  {
    name: "instructions",
    talk: async (isStreamed, model) =>
      (await ask(isStreamed, { model, instructions: "You are a pirate.", prompt: "Say who you are." })).text,
    expected: "Arr, a pirate."
  },
  {
    name: "temperature and length of the answer",
    talk: async (isStreamed, model) =>
      (
        await ask(isStreamed, {
          model,
          temperature: 0.25,
          maxOutputTokens: 77,
          prompt: "Say how you are set."
        })
      ).text,
    expected: "0.25 77"
  },
  {
    name: "an answer that is cut off",
    notAimocksResponses: "they are incomplete without saying why",
    talk: async (isStreamed, model) =>
      (await ask(isStreamed, { model, maxOutputTokens: 7, prompt: "Tell a tale without end." })).steps,
    expected: [{ text: "Once upon a time there was", finishReason: "length", calls: [], tokens: [11, 7] }]
  },
  {
    name: "three steps with a tool",
    talk: (isStreamed, model) =>
      ask(isStreamed, {
        model,
        tools: { weather },
        stopWhen: isStepCount(5),
        prompt: "Look at two cities, one after the other."
      }),
    expected: {
      steps: [
        { text: "", finishReason: "tool-calls", calls: [["weather", { city: "Bonn" }]], tokens: [11, 7] },
        { text: "", finishReason: "tool-calls", calls: [["weather", { city: "Oslo" }]], tokens: [11, 7] },
        {
          text: "It is sunny in Bonn and snowy in Oslo.",
          finishReason: "stop",
          calls: [],
          tokens: [11, 7]
        }
      ],
      text: "It is sunny in Bonn and snowy in Oslo."
    }
  },
  {
    name: "two calls in one answer",
    talk: async (isStreamed, model) => {
      const { steps } = await ask(isStreamed, {
        model,
        tools: { weather },
        stopWhen: isStepCount(5),
        prompt: "Look at two cities at the same time."
      })
      return steps.map(({ calls, text }) => [text, calls])
    },
    expected: [
      [
        "",
        [
          ["weather", { city: "Bonn" }],
          ["weather", { city: "Oslo" }]
        ]
      ],
      ["It is sunny in Bonn and snowy in Oslo.", []]
    ]
  },
  {
    name: "a tool that fails",
    talk: async (isStreamed, model) =>
      (
        await ask(isStreamed, {
          model,
          tools: { weather: failing },
          stopWhen: isStepCount(5),
          prompt: "How is the weather?"
        })
      ).text.includes("no barometer"),
    expected: true
  },
  {
    name: "a tool that people execute, and the conversation goes on with what they say",
    talk: async (isStreamed, model) => {
      const question: ModelMessage = { role: "user", content: "How is the weather?" }
      const called = { model, tools: { weather: unexecuted } }
      const first = isStreamed
        ? streamText({ ...called, messages: [question] })
        : await generateText({ ...called, messages: [question] })
      const [call] = await first.toolCalls
      const { messages } = await first.response
      const result: ModelMessage = {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: call?.toolCallId ?? "",
            toolName: "weather",
            output: { type: "text", value: "rain, says Ann" }
          }
        ]
      }
      const then = await ask(isStreamed, { ...called, messages: [question, ...messages, result] })
      return [await first.finishReason, call?.input, then.text]
    },
    expected: ["tool-calls", { city: "Bonn" }, "I was told: rain, says Ann."]
  },
  {
    name: "a tool that has to be called",
    talk: async (isStreamed, model) => {
      const { steps } = await ask(isStreamed, {
        model,
        tools: { weather: unexecuted },
        toolChoice: "required",
        prompt: "You must look."
      })
      return steps.map(({ calls, finishReason }) => [finishReason, calls])
    },
    expected: [["tool-calls", [["weather", { city: "Rome" }]]]]
  },
  {
    name: "this tool has to be called",
    talk: async (isStreamed, model) => {
      const { steps } = await ask(isStreamed, {
        model,
        tools: { weather: unexecuted },
        toolChoice: { type: "tool", toolName: "weather" },
        prompt: "You must look."
      })
      return steps.map(({ calls, finishReason }) => [finishReason, calls])
    },
    expected: [["tool-calls", [["weather", { city: "Rome" }]]]]
  },
  {
    name: "structured output",
    talk: async (isStreamed, model) => {
      const asked = { model, output: recipe, prompt: "Give me a recipe." }
      if (!isStreamed) return (await generateText(asked)).output
      const streamed = streamText(asked)
      await streamed.consumeStream()
      return await streamed.output
    },
    expected: { name: "Toast", steps: ["Cut bread.", "Toast it."] }
  },
  {
    name: "a conversation of several turns",
    talk: async (isStreamed, model) => {
      const messages: Array<ModelMessage> = []
      const answers: Array<string> = []
      for (const content of ["I am Ann.", "Say hello again.", "What is my name?"]) {
        messages.push({ role: "user", content })
        const asked = { model, messages: [...messages] }
        const turn = isStreamed ? streamText(asked) : await generateText(asked)
        answers.push(await turn.text)
        messages.push(...(await turn.response).messages)
      }
      return answers.at(-1)
    },
    expected: "You are Ann (3 and 2 messages)."
  }
]
