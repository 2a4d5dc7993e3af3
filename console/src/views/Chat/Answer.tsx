import { useMemo, useState } from "preact/hooks"
import { duration } from "../../Format.ts"
import { Copy } from "../../ui/Copy.tsx"
import { Json, LongText } from "../../ui/Text.tsx"
import { type Block, blocksOf } from "./Blocks.ts"
import type { Part, ToolUse } from "./Turn.ts"

const mostDrawn = 60_000

const Code = ({ block }: { readonly block: Block }) => (
  <figure class="chat-code">
    <figcaption>
      <span class="muted">{block.language}</span>
      <Copy text={block.text} what="code" />
    </figcaption>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
    <section tabIndex={0} aria-label="Code">
      <pre>{block.text}</pre>
    </section>
  </figure>
)

/** A text as it is, with the code between its fences set apart. What is too long to draw can be unfolded. */
export const Words = ({ text }: { readonly text: string }) => {
  const blocks = useMemo(() => (text.length > mostDrawn ? [] : blocksOf(text)), [text])
  if (text.length > mostDrawn) return <LongText text={text} folded={mostDrawn} />
  return (
    <>
      {blocks.map((block, index) =>
        block.type === "code" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks come in order, and only the last changes
          <Code key={index} block={block} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks come in order, and only the last changes
          <p key={index} class="chat-words">
            {block.text}
          </p>
        )
      )}
    </>
  )
}

const stateOf = ({ result }: ToolUse): string => {
  if (result === undefined) return "under way"
  return `${result.isError ? "failed" : "done"} in ${duration(result.durationMs)}`
}

/** A call of a tool, folded. */
const Tool = ({ use }: { readonly use: ToolUse }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      class={use.result?.isError === true ? "chat-tool chat-tool-bad" : "chat-tool"}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <code>{use.name}</code> <span class="muted">{stateOf(use)}</span>
      </summary>
      {isOpen && (
        <div class="stack">
          <div>
            <h4>Arguments</h4>
            <Json value={use.arguments} label={`Arguments of ${use.name}`} />
          </div>
          {use.result !== undefined && (
            <div>
              <h4>{use.result.isError ? "Error" : "Result"}</h4>
              <Json value={use.result.value} label={`Result of ${use.name}`} />
            </div>
          )}
        </div>
      )}
    </details>
  )
}

export const Tools = ({ uses }: { readonly uses: ReadonlyArray<ToolUse> }) => (
  <div class="chat-tools">
    {uses.map((use) => (
      <Tool key={use.id} use={use} />
    ))}
  </div>
)

/** An answer as it comes about: what was said and called, in order. */
export const Parts = ({ parts }: { readonly parts: ReadonlyArray<Part> }) => (
  <>
    {parts.map((part, index) =>
      part.type === "text" ? (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts come in order, and only the last changes
        <Words key={index} text={part.text.length > mostDrawn ? part.text.slice(-mostDrawn) : part.text} />
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts come in order, and only the last changes
        <Tools key={index} uses={part.uses} />
      )
    )}
  </>
)
