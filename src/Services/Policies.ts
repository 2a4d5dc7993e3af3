import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import { type Forbidden, InvalidInput, type NotFound, notFound, Unavailable } from "../Schemas/Errors.ts"
import type { AgentId, CronJobId, WorkspaceId } from "../Schemas/Ids.ts"
import { onlyRestricts, overBounds, type Policy, type PutPolicy, policyOf, unset } from "../Schemas/Policy.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { audited } from "./Audited.ts"
import { CronJobRepo } from "./CronJobRepo.ts"
import { now } from "./CurrentTime.ts"
import { References } from "./References.ts"
import { Settings } from "./Settings.ts"

const onlyOwnerWidens = "only an owner of the workspace may let a policy allow more than it does"

/** Somebody else replaced it between the look at it and the change. */
class PolicyChanged extends Data.TaggedError("PolicyChanged") {}

/** What has a policy, wherever it is kept. */
interface Owners<Id> {
  readonly kind: string
  readonly action: "agent.policy" | "cron_job.policy"
  readonly find: (id: Id) => Effect.Effect<
    Option.Option<{
      readonly workspaceId: WorkspaceId
      readonly id: Id & string
      readonly policy: Policy | null
    }>,
    Unavailable
  >
  readonly setPolicy: (
    id: Id,
    policy: { readonly before?: Policy | null; readonly after: Policy | null },
    at: Date
  ) => Effect.Effect<boolean, Unavailable>
}

type Get<Id> = (user: User, id: Id) => Effect.Effect<Policy, NotFound | Unavailable>
type Set<Id> = (
  user: User,
  id: Id,
  input: PutPolicy
) => Effect.Effect<Policy, Forbidden | InvalidInput | NotFound | Unavailable>

/** The policies of agents and cron jobs (CONTRACT.md section 11): what the runs may do that are made of them from now on. */
export class Policies extends Context.Service<
  Policies,
  {
    /** For members; one that was never set says nothing. */
    readonly ofAgent: Get<AgentId>
    /**
     * Replaces the whole of it, and answers what is stored. By an owner, or by a member where it only restricts what it was
     * (`onlyRestricts`), at the moment at which it is replaced. Runs that were made keep what they have. An id of a connector
     * has to be there, but for those that the policy had before: one that was deleted is simply not there.
     */
    readonly setOfAgent: Set<AgentId>
    readonly ofJob: Get<CronJobId>
    readonly setOfJob: Set<CronJobId>
  }
>()("agentd/Services/Policies") {
  static readonly layer = Layer.effect(
    Policies,
    Effect.gen(function* () {
      const agents = yield* AgentRepo
      const jobs = yield* CronJobRepo
      const make = yield* makeOf
      const ofAgents = make<AgentId>({ kind: "agent", action: "agent.policy", ...agents })
      const ofJobs = make<CronJobId>({ kind: "cron job", action: "cron_job.policy", ...jobs })
      return Policies.of({
        ofAgent: ofAgents.get,
        setOfAgent: ofAgents.set,
        ofJob: ofJobs.get,
        setOfJob: ofJobs.set
      })
    })
  )
}

const makeOf = Effect.gen(function* () {
  const access = yield* Access
  const references = yield* References
  const { maxSteps, runMaxMillis } = yield* Settings
  const bounds = { maxSteps, maxSeconds: Math.floor(runMaxMillis / 1000) }

  return <Id>({
    action,
    find,
    kind,
    setPolicy
  }: Owners<Id>): { readonly get: Get<Id>; readonly set: Set<Id> } => {
    const visible = Effect.fnUntraced(function* (user: User, id: Id) {
      return yield* access.visible(user, kind, yield* find(id))
    })

    /** What an owner may replace whatever it is, nobody else has to leave alone meanwhile. */
    const replace = Effect.fnUntraced(function* (user: User, id: Id, input: PutPolicy, isOfOwner: boolean) {
      const owner = yield* visible(user, id)
      const { policy: before, workspaceId } = owner
      const after = policyOf(input)
      const takesOwner = isOfOwner || !onlyRestricts(before, after)
      if (takesOwner) yield* access.owner(user, workspaceId, onlyOwnerWidens)
      const over = overBounds(after, bounds)
      if (over !== undefined) return yield* new InvalidInput({ error: over })
      const named = after?.connectorIds?.filter((one) => before?.connectorIds?.includes(one) !== true)
      yield* references.resolve(workspaceId, { connectorIds: named })
      const change = takesOwner ? { after } : { before, after }
      const isSet = yield* setPolicy(id, change, yield* now).pipe(audited(action, owner))
      if (!isSet) return yield* takesOwner ? notFound(kind) : new PolicyChanged()
      return after ?? unset
    })

    return {
      get: (user, id) => Effect.map(visible(user, id), ({ policy }) => policy ?? unset),
      set: (user, id, input) =>
        replace(user, id, input, false).pipe(
          Effect.retry({ while: (error) => error instanceof PolicyChanged, times: 3 }),
          // Of many at once an owner is served all the same.
          Effect.catchIf(
            (error) => error instanceof PolicyChanged,
            () =>
              Effect.mapError(replace(user, id, input, true), (error) =>
                error instanceof PolicyChanged || error._tag === "Forbidden"
                  ? new Unavailable({ error: "others are changing this policy; try again" })
                  : error
              )
          )
        )
    }
  }
})
