import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ChatEvent } from "../../src/Schemas/ChatEvent.ts"
import type { ConversationId } from "../../src/Schemas/Ids.ts"
import type { NumberedEvent } from "../../src/Schemas/RunEvent.ts"

/** What a chat stream tells is what the contract lists, and no other event of a run. */
export const chatEvent = ({ event }: NumberedEvent) => event as ChatEvent

/** Reads a chat stream to its end. */
export const collect = <E, R>(stream: Effect.Effect<Stream.Stream<NumberedEvent>, E, R>) =>
  Effect.flatMap(stream, (events) => Stream.runCollect(Stream.map(events, chatEvent)))

export const names = (events: ReadonlyArray<ChatEvent>) => events.map(({ event }) => event)

export const conversationOf = (events: ReadonlyArray<ChatEvent>): ConversationId => {
  const first = events[0]
  assert.isTrue(first?.event === "conversation")
  return (first?.event === "conversation" ? first.data.conversationId : "") as ConversationId
}

export const textOf = (events: ReadonlyArray<ChatEvent>): string =>
  events
    .flatMap(({ data, event }) => (event === "status" && data.status === "responding" ? [data.delta] : []))
    .join("")
