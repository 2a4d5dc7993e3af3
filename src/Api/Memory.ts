import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { MemoryEntryId } from "../Schemas/Ids.ts"
import { MemoryCategory, MemoryDetail, MemoryEntry, MemoryKey, UpsertMemory } from "../Schemas/MemoryEntry.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, listQuery, pathId, removed } from "./Fields.ts"
import { Idempotency } from "./Idempotency.ts"
import { listed, pageOf } from "./Paging.ts"

const page = pageOf(MemoryEntryId)

export const Memory = HttpApiGroup.make("memory")
  .add(
    HttpApiEndpoint.post("upsert", "/api/chat/memory", {
      payload: UpsertMemory,
      success: created(MemoryEntry)
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Store a memory entry by its key",
          description: "201 for a new entry and for a new value of an old one, which keeps its `id`."
        })
      ),
    HttpApiEndpoint.get("list", "/api/chat/memory", {
      query: {
        ...listQuery,
        category: Schema.optionalKey(MemoryCategory),
        key: Schema.optionalKey(MemoryKey),
        ...page.query
      },
      success: listed(MemoryEntry)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the memory entries of a workspace, oldest first",
        description: `All of them; \`category\` and \`key\` narrow the list, \`projectId\` to a project. ${page.description}`,
        transform: page.transform
      })
    ),
    HttpApiEndpoint.get("get", "/api/chat/memory/:id", {
      params: { id: pathId<MemoryEntryId>() },
      success: data(MemoryDetail),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a memory entry with who wrote it",
        description:
          "`author` is the user whose request wrote its value, or the run or chat turn that called `remember`; null of " +
          "an entry that was written before this was kept.",
        ...extension
      })
    ),
    HttpApiEndpoint.delete("remove", "/api/chat/memory/:id", {
      params: { id: pathId<MemoryEntryId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete a memory entry",
        description: "Agents do not recall it any more.",
        ...extension
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({ title: "Memory", description: "What agents keep between conversations, by key." })
  )
