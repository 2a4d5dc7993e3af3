import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import type { ProviderKeyId } from "../Schemas/Ids.ts"
import { CreateProviderKey, ProviderKey, UpdateProviderKey } from "../Schemas/ProviderKey.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, pathId, removed, workspaceQuery } from "./Fields.ts"
import { Idempotency } from "./Idempotency.ts"

export const ProviderKeys = HttpApiGroup.make("providerKeys")
  .add(
    HttpApiEndpoint.get("list", "/api/provider-keys", {
      query: workspaceQuery,
      success: data(Schema.Array(ProviderKey))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the provider keys of a workspace, oldest first",
        description: "Without the keys themselves: `hasApiKey` says whether there is one."
      })
    ),
    HttpApiEndpoint.post("create", "/api/provider-keys", {
      payload: CreateProviderKey,
      success: created(ProviderKey)
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Store a provider key",
          description:
            "By an owner; the first one becomes the workspace's default. `apiKey` is sealed and never returned. `openai-compatible` needs a `baseUrl`. `maxOutputTokens` is how " +
            "many tokens an answer may have; without it the provider decides, or what is usual for the model. `pricing` is what its tokens cost; without it what public lists say of the model."
        })
      ),
    HttpApiEndpoint.patch("update", "/api/provider-keys/:id", {
      params: { id: pathId<ProviderKeyId>() },
      payload: UpdateProviderKey,
      success: data(ProviderKey),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set what the tokens of a provider key cost",
        description:
          "By an owner. US dollars per million tokens; without `cachedInputPerMillion` cached tokens cost as others. `null`: what public lists say of the model. What was used before keeps its cost."
      })
    ),
    HttpApiEndpoint.delete("remove", "/api/provider-keys/:id", {
      params: { id: pathId<ProviderKeyId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete a provider key; agents that named it have none",
        description:
          "By an owner. Work under way that it answers ends with an error at its next question to a model."
      })
    )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "Provider keys",
      description: "Keys of inference providers, each with the model it is for."
    })
  )
