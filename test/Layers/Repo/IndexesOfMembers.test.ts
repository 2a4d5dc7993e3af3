import { describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { UserId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { Email } from "../../../src/Schemas/User.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import * as Postgres from "../../support/Postgres.ts"
import { type IndexUse, indexUse, seeded } from "./IndexUse.ts"

const workspaceId = "ws_7" as WorkspaceId
const userId = "user_7" as UserId

const suite = () =>
  layer(seeded, { excludeTestServices: true })((it) => {
    it.effect.each<IndexUse & { readonly what: string }>([
      ...(
        [
          ["the role of a member or somebody invited", "role"],
          ["who of some users is a member", "lockMembers"],
          ["what others are told of a user", "profile"]
        ] as const
      ).map(([what, name]) => ({
        what,
        table: "workspace_members",
        index: "workspace_members_pkey",
        call: Effect.flatMap(
          WorkspaceRepo,
          (workspaces): Effect.Effect<unknown, unknown> =>
            name === "lockMembers"
              ? workspaces.lockMembers(workspaceId, [userId])
              : workspaces[name](workspaceId, userId)
        )
      })),
      {
        what: "the look for an invitation",
        table: "workspace_invitations",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) =>
          workspaces.role(workspaceId, "visitor_7" as UserId)
        )
      },
      {
        what: "the list of the invitations of a user",
        table: "workspace_invitations",
        index: "workspace_invitations_of_email",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) => workspaces.list(userId))
      },
      {
        what: "the end of the invitations of a user",
        table: "workspace_invitations",
        index: "workspace_invitations_of_email",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) =>
          workspaces.removeMemberships({ id: "visitor_8" as UserId, email: "v8@example.org" as Email })
        )
      },
      {
        what: "the invitations of a workspace",
        table: "workspace_invitations",
        index: "workspace_invitations_pkey",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) => workspaces.members(workspaceId))
      }
    ])("$what uses an index", indexUse)
  })

if (Postgres.hasPostgres) describe("Indexes of members on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Indexes of members on PostgreSQL"), suite)
