import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type { Unavailable } from "../../Schemas/Errors.ts"
import type { MemoryEntryId } from "../../Schemas/Ids.ts"
import {
  MemoryCategory,
  type MemoryDetail,
  type MemoryEntry,
  MemoryKey,
  MemoryValue
} from "../../Schemas/MemoryEntry.ts"
import { audited } from "../../Services/Audited.ts"
import { now } from "../../Services/CurrentTime.ts"
import { Ids } from "../../Services/Ids.ts"
import { MemoryRepo } from "../../Services/MemoryRepo.ts"
import { Settings } from "../../Services/Settings.ts"
import { type Tool, ToolError, type ToolScope } from "../../Services/ToolSource.ts"

const recallLimit = 50

const tooSlow = Effect.fail(
  new ToolError({ error: "the memory could not be searched in time; ask for something else" })
)

/** The tools of every agent: `remember`, `recall` and `current_time` (CONTRACT.md section 7). */
export const make = Effect.gen(function* () {
  const ids = yield* Ids
  const memory = yield* MemoryRepo
  const { quotas } = yield* Settings

  const remember = ({ id: runId, projectId, workspaceId }: ToolScope) =>
    tool({
      name: "remember",
      description: "Keeps a value under a key in the memory of this workspace, replacing what was there.",
      readOnly: false,
      parameters: Schema.Struct({
        key: MemoryKey,
        value: MemoryValue,
        category: Schema.optionalKey(MemoryCategory)
      }),
      call: Effect.fn("remember")(function* ({ category, key, value }) {
        const id = yield* ids.make<MemoryEntryId>("memoryEntry")
        const at = yield* now
        const author = { runId }
        const entry = { id, workspaceId, projectId, key, value, category: category ?? null, author, at }
        const kept = yield* memory.upsert(entry, quotas).pipe(
          audited("memory.write", { workspaceId }),
          Effect.catchTag("PlanLimitExceeded", ({ error }) => new ToolError({ error }))
        )
        return toResult(kept)
      })
    })

  const recall = ({ projectId, workspaceId }: ToolScope) =>
    tool({
      name: "recall",
      description:
        `Finds what is in the memory of this workspace; up to ${recallLimit} entries, the latest first. ` +
        "Each says who wrote it: a user, or a run of an agent.",
      readOnly: true,
      parameters: Schema.Struct({ query: Schema.optionalKey(MemoryValue) }),
      call: Effect.fn("recall")(function* ({ query }) {
        const entries = yield* memory
          .search({ workspaceId, projectId, query, limit: recallLimit })
          .pipe(Effect.catchTag("MemoryTooSlow", () => tooSlow))
        return { entries: entries.map(withAuthor) }
      })
    })

  const currentTime = tool({
    name: "current_time",
    description: "Tells the current time, in UTC or in the time zone with this IANA name.",
    readOnly: true,
    parameters: Schema.Struct({ timezone: Schema.optionalKey(Schema.String) }),
    call: Effect.fn("current_time")(function* ({ timezone }) {
      const at = yield* DateTime.now
      const zone = timezone === undefined ? Option.none() : DateTime.zoneMakeNamed(timezone)
      if (timezone !== undefined && Option.isNone(zone)) {
        return yield* new ToolError({ error: `timezone: there is no time zone ${timezone}` })
      }
      return {
        utc: DateTime.formatIso(at),
        ...(Option.isSome(zone) && {
          timezone: timezone ?? "UTC",
          local: DateTime.formatIsoOffset(DateTime.setZone(at, zone.value))
        })
      }
    })
  })

  return { tools: (scope: ToolScope): ReadonlyArray<Tool> => [remember(scope), recall(scope), currentTime] }
})

const toResult = ({ category, key, updatedAt, value }: MemoryEntry) => ({
  key,
  value,
  category,
  updatedAt: updatedAt.toISOString()
})

const withAuthor = (entry: MemoryDetail) => ({ ...toResult(entry), author: entry.author })

const describe = SchemaIssue.makeFormatterStandardSchemaV1()

const tool = <S extends Schema.ConstraintCodec<object, unknown, never, never>>(options: {
  readonly name: string
  readonly description: string
  readonly readOnly: boolean
  readonly parameters: S
  readonly call: (argument: S["Type"]) => Effect.Effect<Schema.Json, ToolError | Unavailable>
}): Tool => {
  const decode = Schema.decodeUnknownEffect(options.parameters, { errors: "all" })
  return {
    definition: {
      name: options.name,
      description: options.description,
      readOnly: options.readOnly,
      parameters: Schema.toJsonSchemaDocument(options.parameters).schema as Schema.JsonObject
    },
    binding: null,
    call: (argument) =>
      decode(argument).pipe(
        Effect.mapError(
          ({ issue }) =>
            new ToolError({
              error: describe(issue)
                .issues.map(({ message, path }) => `${(path ?? []).join(".") || "arguments"}: ${message}`)
                .join("; ")
            })
        ),
        Effect.flatMap(options.call)
      )
  }
}
