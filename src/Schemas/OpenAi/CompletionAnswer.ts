import type { OpenCall } from "../TurnTold.ts"
import type { CountedUsage } from "../Usage.ts"
import { version } from "../Version.ts"
import { argumentsText } from "./Calls.ts"
import type { Problem } from "./Problem.ts"
import { completionUsage } from "./Usage.ts"

/** What all pieces of an answer say alike. */
export interface AnswerHead {
  readonly turnId: string
  /** As the request named it. */
  readonly model: string
}

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter"

/** How an answer ended. */
export interface AnswerEnd {
  readonly text: string
  readonly calls: ReadonlyArray<OpenCall>
  readonly reason: FinishReason
  readonly usage: CountedUsage
}

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

/** When what has this id was made, in seconds: the first ten characters of a ULID are its milliseconds. */
export const secondsOf = (id: string): number => {
  const [, time = ""] = /_([0-9a-z]{10})/.exec(id) ?? []
  const millis = [...time].reduce((sum, digit) => sum * 32 + alphabet.indexOf(digit), 0)
  return Math.floor(millis / 1_000)
}

const headOf = ({ model, turnId }: AnswerHead, object: string) => ({
  id: `chatcmpl-${turnId.replace(/^turn_/, "")}`,
  object,
  created: secondsOf(turnId),
  model,
  system_fingerprint: `agentd-${version}`
})

const callOf = ({ arguments: value, id, name }: OpenCall) => ({
  id,
  type: "function",
  function: { name, arguments: argumentsText(value) }
})

/** A whole answer. */
export const completion = (head: AnswerHead, { calls, reason, text, usage }: AnswerEnd) => ({
  ...headOf(head, "chat.completion"),
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: text === "" && calls.length > 0 ? null : text,
        refusal: null,
        annotations: [],
        ...(calls.length > 0 && { tool_calls: calls.map(callOf) })
      },
      logprobs: null,
      finish_reason: reason
    }
  ],
  usage: completionUsage(usage)
})

/** How the pieces of an answer are written; `includesUsage`: the last one says what it took, all others that they don't. */
export const chunksOf = (head: AnswerHead, includesUsage: boolean) => {
  const common = { ...headOf(head, "chat.completion.chunk"), ...(includesUsage && { usage: null }) }
  const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`
  const chunk = (delta: object, finish_reason: FinishReason | null = null) =>
    data({ ...common, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })
  return {
    first: () => chunk({ role: "assistant", content: "", refusal: null }),
    text: (content: string) => (content === "" ? "" : chunk({ content })),
    end: ({ calls, reason, usage }: AnswerEnd) => {
      const called = calls.map((call, index) => chunk({ tool_calls: [{ index, ...callOf(call) }] }))
      const last = includesUsage ? data({ ...common, choices: [], usage: completionUsage(usage) }) : ""
      return `${called.join("")}${chunk({}, reason)}${last}data: [DONE]\n\n`
    },
    /** Nothing follows it: clients read no further. */
    failed: (error: Problem) => data({ error })
  }
}
