import { useLayoutEffect, useRef } from "preact/hooks"
import { cost, duration, instant } from "../../Format.ts"
import { Json, LongText } from "../../ui/Text.tsx"
import type { Live } from "./Live.ts"
import type { Body, Chapter } from "./Story.ts"

/** What there is to know of a row of the waterfall. */
export const ChapterBody = ({
  chapter,
  live
}: {
  readonly chapter: Chapter
  readonly live: Live | undefined
}) => {
  const { body, from, to } = chapter
  return (
    <div class="stack">
      <p class="step-facts number">
        {instant(new Date(from))}
        {to === undefined ? ", goes on" : to > from ? `, ${duration(to - from)}` : ""}
        {body.type === "model" && body.span !== undefined && spentOn(body.span)}
      </p>
      {body.type === "model" && <Model body={body} live={live} state={chapter.state} />}
      {body.type === "tool" && <Tool body={body} state={chapter.state} />}
      {body.type === "approval" && <Decision body={body} />}
      {body.type === "words" && <p>{body.words}</p>}
    </div>
  )
}

type Of<Type extends Body["type"]> = Extract<Body, { type: Type }>
type ModelSpan = NonNullable<Of<"model">["span"]>

const spentOn = ({ cachedInputTokens, costUsd, inputTokens, model, outputTokens }: ModelSpan): string => {
  const written = (tokens: number) => tokens.toLocaleString("en")
  const cached = cachedInputTokens > 0 ? ` (${written(cachedInputTokens)} from a cache)` : ""
  const price = costUsd === null ? "cost not known" : cost(costUsd)
  const by = model === null ? "" : ` · ${model}`
  return `${by} · ${written(inputTokens)} tokens in${cached}, ${written(outputTokens)} out · ${price}`
}

const unfinished = (state: Chapter["state"], what: string): string =>
  state === "open" ? `${what} …` : state === "bad" ? "It failed here." : "It was not finished."

const forgotten = "Its texts are not kept any more."

const Model = ({
  body: { span, step },
  live,
  state
}: {
  readonly body: Of<"model">
  readonly live: Live | undefined
  readonly state: Chapter["state"]
}) => {
  if (step === undefined) {
    return live === undefined || live.text === "" ? (
      <p class="muted">
        {span === undefined ? unfinished(state, "The model was asked and has said nothing yet") : forgotten}
      </p>
    ) : (
      <Speech live={live} />
    )
  }
  const { text, toolCalls } = step
  return (
    <>
      {span?.truncated != null && <p class="step-error">{span.truncated}</p>}
      {text !== "" && <LongText text={text} label={`What the model said, step ${step.index}`} />}
      {toolCalls.length > 0 && (
        <p>
          Called{" "}
          {toolCalls.map(({ id, name }, index) => (
            <span key={id}>
              {index > 0 && ", "}
              <code>{name}</code>
            </span>
          ))}
          .
        </p>
      )}
      {text === "" && toolCalls.length === 0 && <p class="muted">It said nothing.</p>}
    </>
  )
}

/** How near the end somebody has to be for the end to be followed. */
const endPixels = 40

/** What the model says as it comes in; its end stays in sight unless somebody reads further up. */
const Speech = ({ live: { dropped, text } }: { readonly live: Live }) => {
  const box = useRef<HTMLElement>(null)
  const follows = useRef(true)
  useLayoutEffect(() => {
    if (box.current !== null && follows.current) box.current.scrollTop = box.current.scrollHeight
  })
  return (
    <section
      ref={box}
      class="step-speech"
      aria-label="What the model says"
      aria-busy="true"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { clientHeight, scrollHeight, scrollTop } }) => {
        follows.current = scrollHeight - scrollTop - clientHeight < endPixels
      }}
    >
      {dropped > 0 && <p class="muted">({dropped.toLocaleString("en")} characters before this)</p>}
      <pre>{text}</pre>
    </section>
  )
}

const Tool = ({
  body: { call, step },
  state
}: {
  readonly body: Of<"tool">
  readonly state: Chapter["state"]
}) => (
  <div class="step-call">
    {call !== undefined && (
      <div>
        <h3>Arguments</h3>
        <Json value={call.arguments} label={`Arguments of ${call.name}, ${call.id}`} />
      </div>
    )}
    {step === undefined ? (
      <p class="muted">{state === "ok" ? forgotten : unfinished(state, "It has no result yet")}</p>
    ) : (
      <div>
        <h3 class={step.result.isError ? "step-error" : undefined}>
          {step.result.isError ? "Error" : "Result"}
        </h3>
        <Json value={step.result.result} label={`Result of ${step.result.name}, ${step.result.id}`} />
      </div>
    )}
  </div>
)

const decisions = {
  PENDING: "Nobody has decided yet.",
  APPROVED: "It was approved.",
  REJECTED: "It was rejected.",
  EXPIRED: "Nobody decided in time."
} as const

const Decision = ({ body: { call, span } }: { readonly body: Of<"approval"> }) => (
  <>
    <p>
      {decisions[span.status]}
      {span.decidedBy !== null && (
        <span class="muted">
          {" "}
          By <code>{span.decidedBy}</code>
        </span>
      )}
    </p>
    {span.reason !== null && span.reason !== "" && (
      <LongText text={span.reason} label={`Reason, ${span.approvalId}`} />
    )}
    {call !== undefined && (
      <Json
        value={call.arguments}
        label={`Arguments of ${span.tool} that were asked about, ${span.approvalId}`}
      />
    )}
  </>
)
