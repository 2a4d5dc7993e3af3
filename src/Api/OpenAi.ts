import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { AgentId } from "../Schemas/Ids.ts"
import { text } from "../Schemas/Text.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { extension } from "./Extension.ts"
import { faceAnswer, faceBody, faceErrors, faceHeaders } from "./Face.ts"
import { pathId } from "./Fields.ts"
import { Idempotency, KnowsRetries } from "./Idempotency.ts"
import { pageOf } from "./Paging.ts"

const page = pageOf(AgentId, "a thousand")

const storedResponse = faceAnswer("Response")

const response = { id: pathId<string>() }

/** The protocol of OpenAI, for its clients unchanged: base URL `/v1` (CONTRACT.md section 14). */
export const OpenAi = HttpApiGroup.make("openAi")
  .add(
    HttpApiEndpoint.get("listModels", "/v1/models", {
      query: page.query,
      headers: faceHeaders,
      success: faceAnswer("ModelList"),
      error: faceErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the agents as models, in OpenAI's form",
        description:
          "The workspace's default behaviour, then its agents that get work, each by its id and by its name; a thousand " +
          "agents at most, and behind those, while `has_more`, `after` (the `last_id`) reads on.",
        ...extension,
        transform: page.transform
      })
    ),
    HttpApiEndpoint.get("getModel", "/v1/models/:model", {
      params: { model: text(1, 400) },
      headers: faceHeaders,
      success: faceAnswer("Model"),
      error: faceErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read an agent as a model, in OpenAI's form",
        description:
          "By its id, its name, or either behind the id of its workspace and a slash; `default` is the workspace's default behaviour.",
        ...extension
      })
    ),
    HttpApiEndpoint.post("createChatCompletion", "/v1/chat/completions", {
      payload: faceBody("ChatCompletionRequest"),
      headers: faceHeaders,
      success: faceAnswer("ChatCompletion"),
      error: faceErrors
    })
      .middleware(Idempotency)
      .annotate(KnowsRetries, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Answer a conversation that the caller has, in OpenAI's form",
          description:
            "The messages are the conversation. Calls of the caller's own tools end the answer with `finish_reason: tool_calls`. With `stream` it comes as Server-Sent Events, and `data: [DONE]` is the last.",
          ...extension
        })
      ),
    HttpApiEndpoint.post("createResponse", "/v1/responses", {
      payload: faceBody("ResponseRequest"),
      headers: faceHeaders,
      success: storedResponse,
      error: faceErrors
    })
      .middleware(Idempotency)
      .annotate(KnowsRetries, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Answer in a conversation that is stored here, in OpenAI's form",
          description:
            "In that of `previous_response_id` or `conversation`, or in a new one; with `store: false` one that is soon forgotten. With `stream` it comes as Server-Sent Events; with `background` it is answered at once.",
          ...extension
        })
      ),
    HttpApiEndpoint.get("getResponse", "/v1/responses/:id", {
      params: response,
      query: {
        stream: Schema.optionalKey(Schema.String),
        starting_after: Schema.optionalKey(Schema.String),
        include_obfuscation: Schema.optionalKey(Schema.String)
      },
      success: storedResponse,
      error: faceErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a response, or its events behind one of them, in OpenAI's form",
        description: "With `stream=true` its events behind `starting_after`, up to its end.",
        ...extension
      })
    ),
    HttpApiEndpoint.post("cancelResponse", "/v1/responses/:id/cancel", {
      params: response,
      success: storedResponse,
      error: faceErrors
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Cancel a response, in OpenAI's form",
          description: "One that is over stays as it is.",
          ...extension
        })
      ),
    HttpApiEndpoint.delete("deleteResponse", "/v1/responses/:id", {
      params: response,
      success: faceAnswer("DeletedResponse"),
      error: faceErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete a response, in OpenAI's form",
        description: "One that is under way is cancelled.",
        ...extension
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "OpenAI",
      description: "Models, chat completions and responses, as OpenAI's clients speak."
    })
  )
