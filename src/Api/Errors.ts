import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { AgentInactive as AgentInactiveError } from "../Schemas/Agent.ts"
import { ApprovalDecided as ApprovalDecidedError } from "../Schemas/Approval.ts"
import { BudgetExceeded as BudgetExceededError } from "../Schemas/Budget.ts"
import { PlanLimitExceeded as PlanLimitExceededError } from "../Schemas/Connector.ts"
import { ConversationBusy as ConversationBusyError } from "../Schemas/Conversation.ts"
import * as Errors from "../Schemas/Errors.ts"
import {
  IdempotencyConflict as IdempotencyConflictError,
  IdempotencyInProgress as IdempotencyInProgressError
} from "../Schemas/Idempotency.ts"
import { RunFinished as RunFinishedError } from "../Schemas/Run.ts"
import { RunNotRetryable as RunNotRetryableError } from "../Schemas/RunRetry.ts"
import { WebhookInactive as WebhookInactiveError } from "../Schemas/Webhook.ts"

/** The body of every error response (CONTRACT.md section 2). */
export const ErrorBody = Schema.Struct({
  error: Schema.String.annotate({ description: "A sentence that names the field at fault." })
}).annotate({ identifier: "Error" })

/** A stable word for programs, beside the sentence for people. */
export const errorCodeHeader = "x-error-code"

/** Where a schema of errors tells its codes (`codesOf`). */
const codesKey = "agentd/Api/Errors/codes"

type ErrorClass = Schema.Top &
  (new (fields: {
    readonly error: string
  }) => { readonly _tag: string; readonly error: string }) & { readonly identifier: string }

/**
 * How errors of one status look on the wire: `{"error"}`, the code of the error in `X-Error-Code`, and
 * headers that are the same for all, but for a `Retry-After` that the error has itself; `optional` are those that only
 * some have. One call per status of an endpoint: a status has one set of headers, to which only the two 409 of
 * idempotency keys are added (`Document.ts`).
 */
const respond = <const Cases extends Readonly<Record<string, ErrorClass>>>(
  status: number,
  cases: Cases,
  headers: Readonly<Record<string, string>> = {},
  optional: ReadonlyArray<string> = []
) => {
  type Code = keyof Cases & string
  const codes = Object.keys(cases) as Array<Code>
  const codeOf = (tag: string): Code =>
    codes.find((code) => cases[code]?.identifier === tag) ?? (codes[0] as Code)
  type Failure = Cases[Code]["Type"]
  const body = ErrorBody.pipe(HttpApiSchema.status(status))
  const anyOf = Schema.Union(Object.values(cases)) as unknown as Schema.Codec<Failure, Failure>
  return HttpApiSchema.encodeToWithHeaders<
    typeof anyOf,
    typeof body,
    { readonly "x-error-code": Schema.Literals<ReadonlyArray<Code>> }
  >(
    {
      body,
      headers: {
        [errorCodeHeader]: (codes.length === 1
          ? Schema.Literal(codes[0] as Code)
          : Schema.Literals(codes)) as unknown as Schema.Literals<ReadonlyArray<Code>>,
        ...Object.fromEntries(Object.keys(headers).map((name) => [name, Schema.String])),
        ...Object.fromEntries(optional.map((name) => [name, Schema.optionalKey(Schema.String)]))
      }
    },
    {
      decode: ({ body, headers }) => new (cases[headers[errorCodeHeader]] as ErrorClass)(body) as Failure,
      encode: (failure) => {
        const { _tag, error, retryAfter } = failure as {
          readonly _tag: string
          readonly error: string
          readonly retryAfter?: number
        }
        return {
          body: { error },
          headers: {
            [errorCodeHeader]: codeOf(_tag),
            ...headers,
            ...(retryAfter !== undefined && { "retry-after": String(retryAfter) })
          }
        }
      }
    }
  )(anyOf).annotate({ [codesKey]: { status, codes } })
}

export const InvalidInput = respond(400, { invalid_input: Errors.InvalidInput })
export const Unauthenticated = respond(
  401,
  { unauthenticated: Errors.Unauthenticated },
  { "www-authenticate": "Bearer" }
)
export const Forbidden = respond(403, {
  forbidden: Errors.Forbidden,
  plan_limit_exceeded: PlanLimitExceededError,
  budget_exceeded: BudgetExceededError
})
export const NotFound = respond(404, { not_found: Errors.NotFound })
export const AgentInactive = respond(409, { agent_inactive: AgentInactiveError })
export const ApprovalDecided = respond(409, { approval_decided: ApprovalDecidedError })
export const RunFinished = respond(409, { run_finished: RunFinishedError })
export const NotRetryableOrInactive = respond(409, {
  run_not_retryable: RunNotRetryableError,
  agent_inactive: AgentInactiveError
})
export const BusyOrInactive = respond(409, {
  conversation_busy: ConversationBusyError,
  agent_inactive: AgentInactiveError
})
export const WebhookInactive = respond(409, { webhook_inactive: WebhookInactiveError })
export const IdempotencyRefused = respond(
  409,
  {
    idempotency_conflict: IdempotencyConflictError,
    idempotency_in_progress: IdempotencyInProgressError
  },
  {},
  ["retry-after"]
)
export const RateLimited = respond(429, { rate_limited: Errors.RateLimited }, { "retry-after": "1" })
export const Unavailable = respond(503, { unavailable: Errors.Unavailable }, { "retry-after": "1" })

/** The codes of errors that respond as they do here, by their status. */
export const codesOf = (errors: Iterable<Schema.Top>): Readonly<Record<string, ReadonlyArray<string>>> =>
  Object.fromEntries(
    Array.from(errors).flatMap(({ ast }) => {
      const told = SchemaAST.resolveAt<{ readonly status: number; readonly codes: ReadonlyArray<string> }>(
        codesKey
      )(ast)
      return told === undefined ? [] : [[String(told.status), told.codes] as const]
    })
  )
