import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { usdOf } from "./Budget.ts"
import { type StoredWebhookEvent, testType } from "./WebhookEvent.ts"
import { dataOf } from "./WebhookMessage.ts"

/** The body of a message, as it is made JSON. */
export interface WebhookPayload {
  readonly type: string
  readonly timestamp: string
  readonly data: Schema.JsonObject
}

/** Of a text in UTF-8 (CONTRACT.md section 12). */
export const mostTextBytes = 16 * 1024
/** Of approvals together, and how many. */
const mostApprovalBytes = 256 * 1024
const mostApprovals = 20

const utf8 = new TextEncoder()

const bytesOf = (value: string): number => utf8.encode(value).byteLength

/** As many whole characters of a text as fit into so many bytes in UTF-8. */
export const cutBytes = (value: string, most: number): string => {
  if (value.length * 3 <= most) return value
  return value.slice(0, utf8.encodeInto(value, new Uint8Array(most)).read)
}

const isObject = (value: unknown): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const objectIn = (value: unknown): Schema.JsonObject => (isObject(value) ? value : {})

const numberIn = (value: Schema.Json | undefined): number => (typeof value === "number" ? value : 0)

/** Cuts all texts, and says whether any was too long. */
const makeCutting = () => {
  let isCut = false
  const text = (value: string): string => {
    const cut = cutBytes(value, mostTextBytes)
    isCut ||= cut.length < value.length
    return cut
  }
  const all = (value: Schema.Json): Schema.Json => {
    if (typeof value === "string") return text(value)
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return value.map(all)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, all(inner)]))
  }
  return {
    all,
    cut: () => {
      isCut = true
    },
    isCut: () => isCut
  }
}
type Cutting = ReturnType<typeof makeCutting>

/** Arguments that are too long are the beginning of their JSON. */
const approvalOf = (facts: Schema.JsonObject, cutting: Cutting): Schema.JsonObject => {
  const { areArgumentsCut, arguments: given = null, ...approval } = facts
  const json = JSON.stringify(given)
  if (areArgumentsCut === true && typeof given === "string") cutting.cut()
  else if (bytesOf(json) > mostTextBytes) return { ...approval, arguments: json }
  return { ...approval, arguments: given }
}

const approvalsOf = (facts: Schema.Json | undefined, cutting: Cutting): ReadonlyArray<Schema.Json> => {
  const given = Array.isArray(facts) ? facts : []
  const shown: Array<Schema.Json> = []
  let bytes = 0
  for (const each of given.slice(0, mostApprovals)) {
    const approval = cutting.all(approvalOf(objectIn(each), cutting))
    bytes += bytesOf(JSON.stringify(approval))
    if (shown.length > 0 && bytes > mostApprovalBytes) break
    shown.push(approval)
  }
  if (shown.length < given.length) cutting.cut()
  return shown
}

const nullableUsd = (nanos: Schema.Json | undefined) => (typeof nanos === "number" ? usdOf(nanos) : null)

const budgetOf = (facts: Schema.JsonObject): Schema.JsonObject => ({
  workspaceId: facts.workspaceId ?? null,
  limit: facts.limit ?? null,
  value: facts.limit === "monthlyUsd" ? usdOf(numberIn(facts.amount)) : numberIn(facts.amount),
  month: facts.month ?? null,
  monthlyUsd: {
    used: usdOf(numberIn(facts.usedNanos)),
    reserved: usdOf(numberIn(facts.reservedNanos)),
    lost: usdOf(numberIn(facts.lostNanos)),
    limit: nullableUsd(facts.monthlyNanos)
  },
  monthlyTokens: {
    used: numberIn(facts.usedTokens),
    reserved: numberIn(facts.reservedTokens),
    lost: numberIn(facts.lostTokens),
    limit: facts.monthlyTokens ?? null
  }
})

const connectorOf = (facts: Schema.JsonObject): Schema.JsonObject => ({
  ...facts,
  health: { status: facts.status ?? null, ...objectIn(facts.health) }
})

const shaped = (type: StoredWebhookEvent["type"], facts: Schema.JsonObject, cutting: Cutting) => {
  switch (type) {
    case "run.waiting_approval":
      return { ...facts, approvals: approvalsOf(facts.approvals, cutting) }
    case "approval.decided":
      return approvalOf(facts, cutting)
    case "connector.error":
    case "connector.recovered":
      return connectorOf(facts)
    case "budget.reached":
      return budgetOf(facts)
    case testType:
      return { message: "This is a test: nothing happened, and messages of this webhook arrive." }
    default:
      return facts
  }
}

/** As the API shows it: fields in its order, time stamps in its form, and nothing else. */
const encoders = new Map<string, (facts: unknown) => Option.Option<unknown>>(
  Object.entries(dataOf).map(([type, schema]) => {
    const codec = Schema.toCodecJson(schema as Schema.Codec<object>)
    const decode = Schema.decodeUnknownOption(codec)
    const encode = Schema.encodeOption(codec)
    return [type, (facts) => Option.flatMap(decode(facts), encode)]
  })
)

/**
 * What is sent of an event, made of what was stored when it happened alone: the same bytes at each attempt. `data` is
 * what the API shows of the thing, with texts cut to 16 KiB, which `truncated` says. It never fails: facts of another
 * version that are not understood are sent as they are.
 */
export const payloadOf = (event: StoredWebhookEvent): WebhookPayload => {
  const cutting = makeCutting()
  const facts = objectIn(event.facts)
  const cut = objectIn(cutting.all(shaped(event.type, facts, cutting)))
  const data = cutting.isCut() ? { ...cut, truncated: true } : cut
  return {
    type: event.type,
    timestamp: event.at.toISOString(),
    data: Option.getOrElse(encoders.get(event.type)?.(data) ?? Option.none(), () => data) as Schema.JsonObject
  }
}
