import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { LLMock } from "@copilotkit/aimock"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { LanguageModel } from "ai"
import { scriptModel, talks } from "../support/AiSdkTalks.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"

const dataDir = makeDataDir()
const mock = new LLMock({ port: 0 })
let server: Server

/** Whoever is asked, with what a client has to know of it. */
const asked: Record<"aimock" | "agentd", { baseURL: string; apiKey: string; model: string }> = {
  aimock: { baseURL: "", apiKey: "sk-aimock", model: "m" },
  agentd: { baseURL: "", apiKey: "", model: "default" }
}

beforeAll(async () => {
  scriptModel(mock)
  await mock.start()
  asked.aimock.baseURL = `${mock.url}/v1`
  server = await startServer({
    AGENTD_DATA_DIR: dataDir.path,
    OPENAI_API_KEY: "sk-aimock",
    OPENAI_BASE_URL: `${mock.url}/v1`,
    AGENTD_DEFAULT_MODEL: "m"
  })
  asked.agentd.baseURL = `${server.baseUrl}/v1`
  asked.agentd.apiKey = readCredentials(dataDir.path).token
})
afterAll(async () => {
  await server?.stop("SIGKILL")
  await mock.stop()
  dataDir.remove()
})

/** The providers of the AI SDK, as an application makes them. */
const providers: Record<string, (who: (typeof asked)["aimock"]) => LanguageModel> = {
  "@ai-sdk/openai-compatible": ({ apiKey, baseURL, model }) =>
    createOpenAICompatible({
      name: "agentd",
      baseURL,
      apiKey,
      includeUsage: true,
      supportsStructuredOutputs: true
    })(model),
  "@ai-sdk/openai, chat": ({ model, ...settings }) => createOpenAI(settings).chat(model),
  "@ai-sdk/openai, responses": ({ model, ...settings }) => createOpenAI(settings)(model)
}

for (const [provider, modelOf] of Object.entries(providers)) {
  for (const who of ["aimock", "agentd"] as const) {
    describe(`${provider} with ${who}`, () => {
      for (const { expected, name, notAimocksResponses, talk } of talks) {
        if (notAimocksResponses !== undefined && who === "aimock" && provider.endsWith("responses")) continue
        for (const [way, isStreamed] of [
          ["generateText", false],
          ["streamText", true]
        ] as const) {
          it(`${name}, by ${way}`, async () => {
            assert.deepStrictEqual(await talk(isStreamed, modelOf(asked[who])), expected)
          })
        }
      }
    })
  }
}
