import type * as Schema from "effect/Schema"
import { isThinking, type NumberedEvent } from "./RunEvent.ts"

/** A call that is the caller's to answer. */
export interface OpenCall {
  readonly id: string
  readonly name: string
  readonly arguments: Schema.Json
}

/** What a turn told so far, for who tells it on in a protocol in which nothing can be taken back. */
export interface TurnTold {
  /** All text that counts. */
  readonly text: string
  /** Of the calls that were told, those without a result: at the end they are the caller's. */
  readonly calls: ReadonlyMap<string, OpenCall>
  /** Where in the text the answer begins that is under way. */
  readonly answerFrom: number
  /** Whether something came behind that answer, so that what is thought next is another. */
  readonly isAnswerOver: boolean
  /** How much of the text was told on. */
  readonly said: string
  /** Whether the text began anew within what was told on, and is other than that: nobody can be told the rest. */
  readonly isBroken: boolean
}

export const nothingToldOn: TurnTold = {
  text: "",
  calls: new Map(),
  answerFrom: 0,
  isAnswerOver: true,
  said: "",
  isBroken: false
}

/**
 * With one event more, and what of the text is to be told on by it. A `thinking` behind another without a tool between them
 * says that the answer is begun again, since its node was lost (docs/streams.md): what is the same as before is not told
 * twice.
 */
export const toldOn = (state: TurnTold, { event }: NumberedEvent): readonly [TurnTold, string] => {
  const { data } = event
  if (isThinking(event)) {
    const text = state.isAnswerOver ? state.text : state.text.slice(0, state.answerFrom)
    return [{ ...state, text, answerFrom: text.length, isAnswerOver: false }, ""]
  }
  if (event.event === "tool_call" && "arguments" in data) {
    const calls = new Map(state.calls).set(data.id, {
      id: data.id,
      name: data.name,
      arguments: data.arguments
    })
    return [{ ...state, calls, isAnswerOver: true }, ""]
  }
  if (event.event === "tool_result" && "durationMs" in data) {
    const calls = new Map(state.calls)
    calls.delete(data.id)
    return [{ ...state, calls, isAnswerOver: true }, ""]
  }
  if (event.event === "status" && "delta" in data) return withText(state, state.text + data.delta, false)
  if (event.event === "done" && "message" in data) return withText(state, data.message.content, true)
  return [state, ""]
}

/** What was told on is the beginning of the text, or, until that is whole, the text of what was told on. */
const withText = (state: TurnTold, text: string, isWhole: boolean): readonly [TurnTold, string] => {
  const { said } = state
  if (state.isBroken) return [{ ...state, text }, ""]
  if (text.startsWith(said)) return [{ ...state, text, said: text }, text.slice(said.length)]
  return [{ ...state, text, isBroken: isWhole || !said.startsWith(text) }, ""]
}
