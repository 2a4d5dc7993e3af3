import { assert } from "@effect/vitest"
import { type EventReader, type SeenEvent, textOf } from "./EventReader.ts"
import { until } from "./Until.ts"

export const report = (line: string) => process.stdout.write(`turns: ${line}\n`)

export const named = (events: ReadonlyArray<SeenEvent>, name: string) =>
  events.filter(({ event }) => event === name)
export const ends = (events: ReadonlyArray<SeenEvent>) =>
  events.filter(({ event }) => event === "done" || event === "error")
export const statuses = (events: ReadonlyArray<SeenEvent>, status: string) =>
  events.filter(({ data }) => data.status === status)
export const says = (reader: EventReader, deltas: number) =>
  until(() => statuses(reader.events, "responding").length >= deltas, `${deltas} deltas`)
/** How it ended. */
export const closes = async (reader: EventReader) => {
  await until(() => reader.ended() !== undefined, "the stream has ended")
  return reader.ended()
}

export const assertGrowing = (events: ReadonlyArray<SeenEvent>) => {
  const ids = events.map(({ id }) => id)
  assert.deepStrictEqual(
    ids,
    Array.from(new Set(ids)).sort((a, b) => a - b),
    "ids grow"
  )
}

/** It ended in order, with one `done` behind everything else, and its deltas are the message. */
export const assertAnswered = (events: ReadonlyArray<SeenEvent>) => {
  assertGrowing(events)
  assert.deepStrictEqual(ends(events), events.slice(-1))
  const last = events.at(-1)
  assert.strictEqual(last?.event, "done", JSON.stringify(last))
  assert.strictEqual(textOf(events), last?.data.message.content)
  return last?.data.message
}

/** Nothing in it was taken back, and what belongs together is there once. */
export const assertClean = (events: ReadonlyArray<SeenEvent>, toolCalls: ReadonlyArray<string>) => {
  const message = assertAnswered(events)
  assert.strictEqual(events[0]?.event, "conversation")
  assert.strictEqual(named(events, "conversation").length, 1)
  assert.strictEqual(statuses(events, "thinking").length, 1 + toolCalls.length)
  const deltas = statuses(events, "responding").map(({ data }) => data.delta)
  assert.strictEqual(deltas.join(""), message.content)
  assert.deepStrictEqual(
    events.filter(({ event }) => event.startsWith("tool_")).map(({ data, event }) => `${event} ${data.id}`),
    toolCalls.flatMap((id) => [`tool_call ${id}`, `tool_result ${id}`])
  )
  return message
}

export const assertError = (events: ReadonlyArray<SeenEvent>, code: string) => {
  assertGrowing(events)
  assert.deepStrictEqual(ends(events), events.slice(-1))
  assert.deepInclude(events.at(-1), { event: "error" })
  assert.strictEqual(events.at(-1)?.data.code, code)
}
