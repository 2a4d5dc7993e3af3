import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ChatEvent } from "../../src/Schemas/ChatEvent.ts"
import type { ConversationId } from "../../src/Schemas/Ids.ts"

/** Reads a chat stream to its end. */
export const collect = <E, R>(stream: Effect.Effect<Stream.Stream<ChatEvent>, E, R>) =>
  Effect.flatMap(stream, (events) => Stream.runCollect(events))

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
