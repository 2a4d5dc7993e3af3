import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { AutonomyLevel } from "../Autonomy.ts"
import { storableJson } from "../Json.ts"
import * as Fields from "../OpenAi/Fields.ts"
import type { ToolDefinition, ToolResult } from "../Tool.ts"
import { plainInput, type TurnInput } from "../TurnInput.ts"

/** How long a chat's name, or that of a message, may be. */
const longestName = 200
const longestContent = 100_000
const longestInstructions = 100_000
const mostMessages = 10_000
const mostParts = 10_000
const mostTools = 128
const longestReason = 1_000

/** What people have said about a call that they were asked about. */
export interface Answered {
  readonly approvalId: string
  readonly approved: boolean
  readonly reason: string | null
}

/** The last of the messages that were sent: what of a chat may be new. */
export type Last =
  | { readonly role: "user"; readonly content: string }
  | {
      readonly role: "assistant"
      readonly id: string
      readonly answered: ReadonlyArray<Answered>
      /** Of calls that the client has executed itself. */
      readonly results: ReadonlyArray<ToolResult>
    }

/** What `useChat` sends, as far as it counts: the stored conversation is what is true. */
export interface UiRequest {
  readonly chatId: string
  readonly isRegenerating: boolean
  /** Of the message that is changed, or goes on. */
  readonly messageId: string | null
  readonly last: Last
  /** Of calls that the client has executed, in the reply before what the user says. */
  readonly resultsBefore: ReadonlyArray<ToolResult>
  /** Whether all messages were sent, not the last alone. */
  readonly isWhole: boolean
  /** Ids and roles of all that was sent, the last one included. */
  readonly sent: ReadonlyArray<{ readonly id: string; readonly role: "user" | "assistant" }>
  readonly given: TurnInput | undefined
  readonly projectId: string | undefined
  readonly providerKeyId: string | undefined
  readonly autonomyLevel: AutonomyLevel | undefined
}

/** Reads the body of `POST /api/ui/{agentId}/chat`, as `DefaultChatTransport` writes it; other fields mean nothing. */
export const readRequest = (body: Schema.JsonObject): Fields.Read<UiRequest> =>
  Result.gen(function* () {
    const chatId = yield* Fields.requiredText(1, longestName)(Fields.fieldOf(body, "id"))
    const trigger =
      (yield* Fields.oneOf("submit-message", "regenerate-message")(Fields.fieldOf(body, "trigger"))) ??
      "submit-message"
    const messageId = yield* Fields.text(1, longestName)(Fields.fieldOf(body, "messageId"))
    const messages = yield* messagesOf(body)
    const last = yield* lastOf(messages.at(-1) as Named)
    const before = messages.at(-2)
    const hasReplyBefore = last.role === "user" && before?.role === "assistant"
    return {
      chatId,
      isRegenerating: trigger === "regenerate-message",
      messageId: messageId ?? null,
      last,
      resultsBefore: hasReplyBefore ? yield* all(callsOf(yield* partsOf(before)), resultOf) : [],
      isWhole: Fields.isGiven(Fields.fieldOf(body, "messages")),
      sent: messages.flatMap(({ id, role }) => (role === "system" ? [] : [{ id, role }])),
      given: yield* givenOf(body),
      projectId: yield* Fields.text(1, longestName)(Fields.fieldOf(body, "projectId")),
      providerKeyId: yield* Fields.text(1, longestName)(Fields.fieldOf(body, "providerKeyId")),
      autonomyLevel: yield* Fields.oneOf(...AutonomyLevel.literals)(Fields.fieldOf(body, "autonomyLevel"))
    }
  })

interface Named {
  readonly name: string
  readonly id: string
  readonly role: "user" | "assistant" | "system"
  readonly given: Schema.JsonObject
}

const messageOf = (field: Fields.Field): Fields.Read<Named> =>
  Result.gen(function* () {
    const given = yield* Fields.item(field)
    const role = Fields.fieldOf(given, "role", field.name)
    yield* Fields.required(role)
    return {
      name: field.name,
      given,
      id: yield* Fields.requiredText(1, longestName)(Fields.fieldOf(given, "id", field.name)),
      role: (yield* Fields.oneOf("user", "assistant", "system")(role)) as Named["role"]
    }
  })

/** All of them, or the last alone as `message`. */
const messagesOf = (body: Schema.JsonObject): Fields.Read<ReadonlyArray<Named>> => {
  const one = Fields.fieldOf(body, "message")
  return Fields.isGiven(Fields.fieldOf(body, "messages")) || !Fields.isGiven(one)
    ? Fields.list(1, mostMessages, messageOf)(Fields.fieldOf(body, "messages"))
    : Result.map(messageOf(one), (message) => [message])
}

const lastOf = (message: Named): Fields.Read<Last> =>
  Result.gen(function* () {
    const parts = yield* partsOf(message)
    if (message.role === "system") {
      return yield* Fields.refuse(`${message.name}.role`, 'must be "user" or "assistant" in the last message')
    }
    if (message.role === "user") {
      const content = (yield* textsOf(parts)).join("")
      yield* Fields.requiredText(1, longestContent)({ name: `${message.name}.parts`, value: content })
      return { role: message.role, content }
    }
    const calls = callsOf(parts)
    return {
      role: message.role,
      id: message.id,
      answered: yield* all(calls, answeredOf),
      results: yield* all(calls, resultOf)
    }
  })

interface Part {
  readonly name: string
  readonly type: string
  readonly given: Schema.JsonObject
}

const partOf = (field: Fields.Field): Fields.Read<Part> =>
  Result.gen(function* () {
    const given = yield* Fields.item(field)
    const type = yield* Fields.requiredText(1, longestName)(Fields.fieldOf(given, "type", field.name))
    return { name: field.name, type, given }
  })

const partsOf = ({ given, name }: Named): Fields.Read<ReadonlyArray<Part>> =>
  Fields.list(0, mostParts, partOf)(Fields.fieldOf(given, "parts", name))

const callsOf = (parts: ReadonlyArray<Part>): ReadonlyArray<Part> =>
  parts.filter(({ type }) => type === "dynamic-tool" || type.startsWith("tool-"))

/** What is found in parts. */
const all = <A>(
  parts: ReadonlyArray<Part>,
  read: (part: Part) => Fields.Read<A | undefined>
): Fields.Read<ReadonlyArray<A>> =>
  Result.gen(function* () {
    const found: Array<A> = []
    for (const part of parts) {
      const value = yield* read(part)
      if (value !== undefined) found.push(value)
    }
    return found
  })

/** What a user says is text; data of the client's own is for the client. */
const textsOf = (parts: ReadonlyArray<Part>): Fields.Read<ReadonlyArray<string>> =>
  Result.map(
    all(parts, ({ given, name, type }): Fields.Read<string> => {
      if (type === "text") return Fields.requiredAnyText(Fields.fieldOf(given, "text", name))
      return type.startsWith("data-")
        ? Result.succeed("")
        : Fields.refuseUnsupported(`${name}.type`, "a message is text")
    }),
    (texts) => texts.filter((text) => text !== "")
  )

const answeredOf = ({ given, name }: Part): Fields.Read<Answered | undefined> =>
  Result.gen(function* () {
    const approval = yield* Fields.object(Fields.fieldOf(given, "approval", name))
    if (approval === undefined) return undefined
    const within = `${name}.approval`
    const approved = yield* Fields.boolean(Fields.fieldOf(approval, "approved", within))
    if (approved === undefined) return undefined
    const reason = yield* Fields.text(0, longestReason)(Fields.fieldOf(approval, "reason", within))
    const approvalId = yield* Fields.requiredText(1, longestName)(Fields.fieldOf(approval, "id", within))
    return { approvalId, approved, reason: reason ?? null }
  })

/** Of a call that the client executes itself; those of the service are marked. */
const resultOf = ({ given, name, type }: Part): Fields.Read<ToolResult | undefined> =>
  Result.gen(function* () {
    const { providerExecuted, state } = given
    if (providerExecuted === true || (state !== "output-available" && state !== "output-error"))
      return undefined
    const isError = state === "output-error"
    return {
      id: yield* Fields.requiredText(1, longestName)(Fields.fieldOf(given, "toolCallId", name)),
      name:
        type === "dynamic-tool"
          ? yield* Fields.requiredText(1, longestName)(Fields.fieldOf(given, "toolName", name))
          : type.slice("tool-".length),
      result: isError
        ? yield* Fields.requiredAnyText(Fields.fieldOf(given, "errorText", name))
        : storableJson(given.output ?? null),
      isError,
      durationMs: 0
    }
  })

/** What the page asks for beside the messages, in the `body` of its transport. */
const givenOf = (body: Schema.JsonObject): Fields.Read<TurnInput | undefined> =>
  Result.gen(function* () {
    const instructions = yield* Fields.text(0, longestInstructions)(Fields.fieldOf(body, "instructions"))
    const tools = yield* toolsOf(yield* Fields.object(Fields.fieldOf(body, "tools")))
    if ((instructions ?? "") === "" && tools.length === 0) return undefined
    return { ...plainInput, instructions: instructions ?? null, tools }
  })

/** Tools of the page by their names, as the AI SDK has them. */
const toolsOf = (given: Schema.JsonObject = {}): Fields.Read<ReadonlyArray<ToolDefinition>> =>
  Result.gen(function* () {
    const entries = Object.entries(given)
    if (entries.length > mostTools) return yield* Fields.refuse("tools", `must be at most ${mostTools}`)
    const tools: Array<ToolDefinition> = []
    for (const [name, value] of entries) {
      if (!/^[\w-]{1,64}$/.test(name)) {
        return yield* Fields.refuse("tools", "names must be 1 to 64 letters, digits, _ and -")
      }
      const within = `tools.${name}`
      const tool = yield* Fields.requiredObject({ name: within, value })
      const schema = yield* Fields.keptObject(Fields.fieldOf(tool, "inputSchema", within))
      const parameters = schema ?? (yield* Fields.keptObject(Fields.fieldOf(tool, "parameters", within)))
      tools.push({
        name,
        description:
          (yield* Fields.text(0, longestInstructions)(Fields.fieldOf(tool, "description", within))) ?? "",
        parameters: parameters ?? { type: "object", properties: {} },
        readOnly: false
      })
    }
    return tools
  })
