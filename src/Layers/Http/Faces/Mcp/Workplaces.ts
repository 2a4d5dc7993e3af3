import * as Effect from "effect/Effect"
import { InvalidInput, notFound } from "../../../../Schemas/Errors.ts"
import type { RunId, WorkspaceId } from "../../../../Schemas/Ids.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Runs } from "../../../../Services/Runs.ts"
import { Workspaces } from "../../../../Services/Workspaces.ts"

/** In which workspace a client works: the one that its header names, if it has one. */
export const make = Effect.gen(function* () {
  const runs = yield* Runs
  const workspaces = yield* Workspaces

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
      const [first, ...others] = yield* workspaces.list(caller)
      if (first !== undefined && others.length === 0) return first.id
      return yield* new InvalidInput({
        error:
          first === undefined
            ? "workspaceId: you are in no workspace"
            : "workspaceId: you are in several workspaces; name one here, or in the header X-Workspace-Id"
      })
    }),
    /** A run of a workspace of the caller's; with the header, of that one. No difference to one that there is not. */
    run: Effect.fnUntraced(function* (caller: Caller, header: string | undefined, id: RunId) {
      const run = yield* runs.get(caller, id)
      return header === undefined || header === run.workspaceId ? run : yield* notFound("run")
    })
  }
})
