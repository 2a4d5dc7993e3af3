import * as McpSchema from "effect/ai/McpSchema"
import * as Data from "effect/Data"
import type * as Schema from "effect/Schema"

export type RpcId = string | number

/** A request of a client; `params` is empty where it sent none. */
export interface RpcRequest {
  readonly kind: "request"
  readonly id: RpcId
  readonly method: string
  readonly params: Schema.JsonObject
}

export interface RpcNotification {
  readonly kind: "notification"
  readonly method: string
  readonly params: Schema.JsonObject
}

/** A client's answer to a request of the server; `result` is null of an error. */
export interface RpcResponse {
  readonly kind: "response"
  readonly id: RpcId
  readonly result: Schema.JsonObject | null
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse

/** An error of the protocol; `status` is that of the HTTP response, where it is not 200. */
export class RpcError extends Data.TaggedError("RpcError")<{
  readonly code: number
  readonly message: string
  readonly data?: Schema.Json
  readonly status?: number
}> {}

export const invalidRequest = (message: string, status = 400) =>
  new RpcError({ code: McpSchema.INVALID_REQUEST_ERROR_CODE, message, status })

export const invalidParams = (message: string, status?: number) =>
  new RpcError({
    code: McpSchema.INVALID_PARAMS_ERROR_CODE,
    message,
    ...(status !== undefined && { status })
  })

/** 404 since version 2026-07-28, where the error tells it from an address that speaks no MCP. */
export const methodNotFound = (method: string, isModern: boolean) =>
  new RpcError({
    code: McpSchema.METHOD_NOT_FOUND_ERROR_CODE,
    message: `Method not found: ${method.slice(0, 100)}`,
    ...(isModern && { status: 404 })
  })

/** How long the id of a request may be: it is said again in all that is said about it. */
const longestId = 200

const isObject = (value: unknown): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const objectOr = (value: unknown): Schema.JsonObject => (isObject(value) ? value : {})

export const textOr = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

export const isId = (value: unknown): value is RpcId =>
  typeof value === "string" ? value.length <= longestId : Number.isSafeInteger(value)

/** The id of what may be a request, to answer it by. */
export const idIn = (value: unknown): RpcId | undefined => {
  const { id } = objectOr(value)
  return isId(id) ? id : undefined
}

/** A message of JSON-RPC as MCP has them: ids are never null, and `params` is an object. */
export const readMessage = (value: unknown): RpcMessage | RpcError => {
  if (!isObject(value) || value.jsonrpc !== "2.0")
    return invalidRequest("body: must be a message of JSON-RPC 2.0")
  const { id, method, params = {} } = value
  if (id !== undefined && !isId(id)) {
    return invalidRequest(`id: must be a whole number, or a text of at most ${longestId} characters`)
  }
  if (typeof method === "string") {
    if (!isObject(params)) return invalidRequest("params: must be an object")
    return id === undefined
      ? { kind: "notification", method, params }
      : { kind: "request", id, method, params }
  }
  if (id === undefined || (value.result === undefined && value.error === undefined)) {
    return invalidRequest("method: is required")
  }
  return { kind: "response", id, result: isObject(value.result) ? value.result : null }
}

export const resultMessage = (id: RpcId, result: Schema.JsonObject): Schema.JsonObject => ({
  jsonrpc: "2.0",
  id,
  result
})

export const errorMessage = (
  id: RpcId | undefined,
  { code, data, message }: RpcError
): Schema.JsonObject => ({
  jsonrpc: "2.0",
  ...(id !== undefined && { id }),
  error: { code, message, ...(data !== undefined && { data }) }
})

export const notificationMessage = (method: string, params: Schema.JsonObject): Schema.JsonObject => ({
  jsonrpc: "2.0",
  method,
  params
})
