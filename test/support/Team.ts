import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { Workspaces } from "../../src/Services/Workspaces.ts"
import { makeUser } from "./Fixtures.ts"

/** A workspace with an owner and a member, and somebody who is neither. */
export const makeTeam = Effect.gen(function* () {
  yield* TestClock.setTime(1_000)
  const workspaces = yield* Workspaces
  const [owner, member, stranger] = [yield* makeUser, yield* makeUser, yield* makeUser]
  const workspace = yield* workspaces.create(owner, { name: "Team" })
  yield* workspaces.addMember(owner, workspace.id, { email: member.email })
  // Has been there, and is no invitation any more.
  yield* workspaces.get(member, workspace.id)
  return { id: workspace.id, member, owner, stranger, workspace, workspaces }
})
