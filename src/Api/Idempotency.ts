import * as Context from "effect/Context"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import type { CurrentUser } from "./Authorization.ts"
import { IdempotencyRefused, InvalidInput, RateLimited, Unavailable } from "./Errors.ts"

export const idempotencyKeyHeader = "idempotency-key"

/** `true` on an answer that was given before. */
export const idempotencyReplayedHeader = "idempotency-replayed"

/**
 * How a key is kept with what its request does: in one transaction with it (`within`), the same with the answer sealed,
 * since it shows a secret (`sealed`), or behind it (`behind`): of what has no effect that matters twice, and waits for
 * others than the database.
 */
export class Keeping extends Context.Reference<"within" | "sealed" | "behind">(
  "agentd/Api/Idempotency/Keeping",
  {
    defaultValue: () => "within"
  }
) {}

/**
 * Of an endpoint that begins a turn: it knows the requests that a client of OpenAI sends again by itself, which have no key
 * but a count of how often (`retryCountHeader`).
 */
export class KnowsRetries extends Context.Reference<boolean>("agentd/Api/Idempotency/KnowsRetries", {
  defaultValue: () => false
}) {}

/** 0 with the first request, then 1, 2 … with the same one again. */
export const retryCountHeader = "x-stainless-retry-count"

/**
 * Takes an `Idempotency-Key` (CONTRACT.md section 9): every POST under /api has it, inside of what decodes and lets in,
 * so that handlers know nothing of it. What is to see each request, also one that is answered again, goes outside.
 */
export class Idempotency extends HttpApiMiddleware.Service<Idempotency, { requires: CurrentUser }>()(
  "agentd/Api/Idempotency",
  { error: [InvalidInput, IdempotencyRefused, RateLimited, Unavailable] }
) {}
