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

  const remember = tool({
    name: "remember",
    description: "Keeps a value under a key in the memory of this workspace, replacing what was there.",
    readOnly: false,
    parameters: Schema.Struct({
      key: MemoryKey,
      value: MemoryValue,
      category: Schema.optionalKey(MemoryCategory)
    }),
    call: Effect.fnUntraced(function* ({ category, key, value }, { id: runId, projectId, workspaceId }) {
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

  const recall = tool({
    name: "recall",
    description:
      `Finds what is in the memory of this workspace; up to ${recallLimit} entries, the latest first. ` +
      "Each says who wrote it: a user, or a run of an agent.",
    readOnly: true,
    parameters: Schema.Struct({ query: Schema.optionalKey(MemoryValue) }),
    call: Effect.fnUntraced(function* ({ query }, { projectId, workspaceId }) {
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
    call: Effect.fnUntraced(function* ({ timezone }) {
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

  const all = [remember, recall, currentTime]
  return { tools: (scope: ToolScope): ReadonlyArray<Tool> => all.map((of) => of(scope)) }
})

const toResult = ({ category, key, updatedAt, value }: MemoryEntry) => ({
  key,
  value,
  category,
  updatedAt: updatedAt.toISOString()
})

const withAuthor = (entry: MemoryDetail) => ({ ...toResult(entry), author: entry.author })

const describe = SchemaIssue.makeFormatterStandardSchemaV1()

/** How it is told to a model, and how its arguments are read, is made once for all that it is called for. */
const tool = <S extends Schema.ConstraintCodec<object, unknown, never, never>>(options: {
  readonly name: string
  readonly description: string
  readonly readOnly: boolean
  readonly parameters: S
  readonly call: (
    argument: S["Type"],
    scope: ToolScope
  ) => Effect.Effect<Schema.Json, ToolError | Unavailable>
}): ((scope: ToolScope) => Tool) => {
  const decode = Schema.decodeUnknownEffect(options.parameters, { errors: "all" })
  const definition = {
    name: options.name,
    description: options.description,
    readOnly: options.readOnly,
    parameters: Schema.toJsonSchemaDocument(options.parameters).schema as Schema.JsonObject
  }
  return (scope) => ({
    definition,
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
        Effect.flatMap((read) => options.call(read, scope))
      )
  })
}
