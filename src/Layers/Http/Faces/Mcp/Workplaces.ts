import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { InvalidInput, notFound } from "../../../../Schemas/Errors.ts"
import { RunId, type WorkspaceId } from "../../../../Schemas/Ids.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Runs } from "../../../../Services/Runs.ts"
import { Workplace } from "../../../../Services/Workplace.ts"

const isRunId = Schema.is(RunId)

/** In which workspace a client works: the one that its header names, if it has one. */
export const make = Effect.gen(function* () {
  const runs = yield* Runs
  const workplace = yield* Workplace

  return {
    /**
     * The workspace that is named, by an argument or the header, or else the caller's only one. Whether the caller is a
     * member is found out by who does something there. An argument never leads out of the workspace of the header.
     */
    resolve: Effect.fnUntraced(function* (caller: Caller, header: string | undefined, named?: WorkspaceId) {
      if (header !== undefined && named !== undefined && header !== named) {
        return yield* new InvalidInput({
          error: "workspaceId: must be the workspace of the header X-Workspace-Id"
        })
      }
      const given = named ?? header
      if (given !== undefined) return given as WorkspaceId
      const { workspaceId } = yield* workplace
        .resolve(caller, { header: undefined })
        .pipe(
          Effect.catchTag(["InvalidInput", "NotFound"], ({ error }) =>
            Effect.fail(new InvalidInput({ error: `workspaceId: is needed here (${error})` }))
          )
        )
      return workspaceId
    }),
    /** A run of a workspace of the caller's; with the header, of that one. No difference to one that there is not. */
    run: Effect.fnUntraced(function* (caller: Caller, header: string | undefined, id: string) {
      if (!isRunId(id)) return yield* notFound("run")
      const run = yield* runs.get(caller, id)
      return header === undefined || header === run.workspaceId ? run : yield* notFound("run")
    })
  }
})
