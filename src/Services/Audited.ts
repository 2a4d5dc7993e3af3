import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import {
  type Actor,
  type AuditAction,
  type AuditedChange,
  type AuditScope,
  ofRows
} from "../Schemas/Audit.ts"

/** What a repository keeps with the change that it makes: an entry if there is a change, and none if there is not. */
export interface Audit {
  readonly changes: ReadonlyArray<AuditedChange>
  /** Each of its own row, by `targetId`: of what the statement has not made there is no entry. */
  readonly isEach: boolean
}

/**
 * The entries of the audit log that belong to the change that is made now (CONTRACT.md section 12). Whoever changes
 * something says so around the one call of a repository that does it; the repository writes both in one statement.
 */
export class Audited extends Context.Reference<Audit | undefined>("agentd/Services/Audited", {
  defaultValue: () => undefined
}) {}

/** Who acts, if that is nobody whose request is answered, and of which secrets it was told already that it opened them. */
export interface Acting {
  readonly actor: Actor
  readonly opened: Set<string>
}

export class CurrentActor extends Context.Reference<Acting | undefined>("agentd/Services/CurrentActor", {
  defaultValue: () => undefined
}) {}

/** Says who acts, whoever has asked for it. */
export const actingAs =
  (actor: Actor) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => Effect.provideService(effect, CurrentActor, { actor, opened: new Set() }))

/**
 * Has an entry written with a change: around one call of a repository that makes it, and nothing else. `of` says in
 * whose log and about what, which is the row that is changed where it has no `id`.
 */
export const audited = (action: AuditAction, of: AuditScope & { readonly id?: string }) => {
  const changes = [{ action, scope: scopeOf(of), targetId: of.id ?? null, actor: null }]
  return <A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(change, Audited, { changes, isEach: false })
}

/** The same for a statement that makes several rows, each with its own entry: `targetId` is the id of the row. */
export const auditedEach =
  (changes: ReadonlyArray<AuditedChange>) =>
  <A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(change, Audited, { changes, isEach: true })

/** The same for a statement that changes rows that nobody knows before: an entry of each, in the log of its workspace. */
export const auditedAll = (action: AuditAction) => {
  const changes = [{ action, scope: ofRows, targetId: null, actor: null }] as const
  return <A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(change, Audited, { changes, isEach: false })
}

/** Of a thing of a workspace that names a user as well, the workspace counts. */
const scopeOf = (of: AuditScope): AuditScope =>
  "workspaceId" in of ? { workspaceId: of.workspaceId } : { userId: of.userId }
