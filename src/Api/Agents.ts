import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Agent, CreateAgent, UpdateAgent } from "../Schemas/Agent.ts"
import { AgentId } from "../Schemas/Ids.ts"
import { Policy, PutPolicy } from "../Schemas/Policy.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, listQuery, pathId, removed } from "./Fields.ts"
import { Idempotency } from "./Idempotency.ts"
import { listed, pageOf } from "./Paging.ts"
import { policyChanges, policyTells } from "./Policies.ts"

const page = pageOf(AgentId)

export const Agents = HttpApiGroup.make("agents")
  .add(
    HttpApiEndpoint.post("create", "/api/agents", {
      payload: CreateAgent,
      success: created(Agent)
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an agent",
          description:
            "In a workspace of the caller, on request in one of its projects; it starts active. `providerKeyId` says which model answers for it, and is set by an owner; without one the workspace's default does."
        })
      ),
    HttpApiEndpoint.get("list", "/api/agents", {
      query: { ...listQuery, ...page.query },
      success: listed(Agent)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the agents of a workspace, oldest first",
        description: `All of them, also inactive ones; \`projectId\` narrows the list to a project. ${page.description}`,
        transform: page.transform
      })
    ),
    HttpApiEndpoint.get("get", "/api/agents/:id", {
      params: { id: pathId<AgentId>() },
      success: data(Agent),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read an agent",
        description:
          "With a summary of its provider key, or null. 404 also where the caller is no member of its workspace."
      })
    ),
    HttpApiEndpoint.patch("update", "/api/agents/:id", {
      params: { id: pathId<AgentId>() },
      payload: UpdateAgent,
      success: data(Agent),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Update an agent",
        description:
          "An absent field stays; `null` clears `description`, `systemPrompt` and `providerKeyId`. An owner alone changes the latter."
      })
    ),
    HttpApiEndpoint.get("policy", "/api/agents/:id/policy", {
      params: { id: pathId<AgentId>() },
      success: data(Policy),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read the policy of an agent",
        description: `Nothing is said by one that was never set. ${policyTells}`,
        ...extension
      })
    ),
    HttpApiEndpoint.put("setPolicy", "/api/agents/:id/policy", {
      params: { id: pathId<AgentId>() },
      payload: PutPolicy,
      success: data(Policy),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Replace the policy of an agent",
        description: `The whole of it: what is absent is unset. ${policyChanges}`,
        ...extension
      })
    ),
    HttpApiEndpoint.delete("remove", "/api/agents/:id", {
      params: { id: pathId<AgentId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete an agent; its runs, conversations and cron jobs stay without one",
        description: "Runs under way go on as they began. It can't be undone.",
        ...extension
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "Agents",
      description: "Named behaviours that get tasks and answer messages."
    })
  )
