import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import { names, ofEach, type Quota, type Quotas, quotas } from "./Quotas.ts"
import { Plan } from "./Workspace.ts"

const form = 'must be JSON such as {"free":{"agents":5}}'

const isPlan = (name: string): name is Plan => (Plan.literals as ReadonlyArray<string>).includes(name)
const isQuota = (name: string): name is Quota => Object.hasOwn(quotas, name)
const isLimit = (value: unknown): value is number | null =>
  value === null || (Number.isSafeInteger(value) && Number(value) >= 0)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The quotas with what `AGENTD_QUOTAS` changes of them; or what is wrong with it, as a predicate that never repeats it.
 */
export const readQuotas = (text: string): Result.Result<Quotas, string> => {
  const given = parse(text)
  if (!Predicate.isReadonlyObject(given)) return Result.fail(form)
  const changed = ofEach((quota): Record<Plan, number | null> => ({ ...quotas[quota] }))
  for (const [plan, limits] of Object.entries(given)) {
    if (!isPlan(plan)) return Result.fail(`names a plan that is none of ${Plan.literals.join(", ")}`)
    if (!Predicate.isReadonlyObject(limits)) return Result.fail(form)
    for (const [quota, limit] of Object.entries(limits)) {
      if (!isQuota(quota)) return Result.fail(`names a quota that is none of ${names.join(", ")}`)
      if (!isLimit(limit)) {
        return Result.fail(`${plan}.${quota} must be a whole number from 0, or null for no limit`)
      }
      changed[quota][plan] = limit
    }
  }
  return Result.succeed(changed)
}
