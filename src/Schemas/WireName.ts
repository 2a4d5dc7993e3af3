import type { PromptMessage } from "./Inference.ts"
import { hash } from "./ToolName.ts"

/** The wire protocols of providers, by what they take. */
export type Dialect = "openai" | "openai-compatible" | "anthropic" | "google"

interface Taken {
  readonly pattern: RegExp
  readonly longest: number
}

const anyOf = (longest: number): Taken => ({ pattern: /^[a-zA-Z0-9_-]+$/u, longest })
/** Servers and Gemini name their own calls as they like: Kimi reads the tool out of its `functions.recall:0`. */
const visible = (longest: number): Taken => ({ pattern: /^[\x21-\x7e]+$/u, longest })

/**
 * What providers take as the name of a tool and the id of a call, in requests, by what they answer to others:
 * OpenAI `^[a-zA-Z0-9_-]+$` with 64 characters, and ids of 40; Anthropic the same letters for both, names of 128;
 * Gemini names that begin with a letter or underscore, with 64.
 */
const taken: Readonly<Record<Dialect, { readonly name: Taken; readonly id: Taken }>> = {
  openai: { name: anyOf(64), id: anyOf(40) },
  "openai-compatible": { name: anyOf(64), id: visible(40) },
  anthropic: { name: anyOf(128), id: anyOf(64) },
  google: { name: { pattern: /^[a-zA-Z_][a-zA-Z0-9_.-]*$/u, longest: 64 }, id: visible(64) }
}

interface Named {
  readonly name: string
  readonly id: string
}

/** The texts of one request as its provider takes them, and back. */
export interface WireNames {
  readonly name: (name: string) => string
  readonly id: (id: string) => string
  /** The tool that is offered under this name; what the model made up stays as it is. */
  readonly tool: (name: string) => string
}

/**
 * How this provider is shown the names and ids of a request. What it takes stays as it is; anything else becomes what
 * it takes, with a hash of the whole: the same in every request, and never the same for two of one request (where
 * hashes meet, the one that comes later gets another).
 */
export const wireNames = (
  dialect: Dialect,
  tools: ReadonlyArray<{ readonly name: string }>,
  messages: ReadonlyArray<PromptMessage>
): WireNames => {
  const shown = messages.flatMap(
    (message): ReadonlyArray<Named> =>
      message.role === "assistant" ? message.toolCalls : message.role === "tool" ? message.results : []
  )
  const offered = tools.map(({ name }) => name)
  const names = injective([...offered, ...shown.map(({ name }) => name)], taken[dialect].name)
  const ids = injective(
    shown.map(({ id }) => id),
    taken[dialect].id
  )
  const back = new Map(offered.map((name) => [names.get(name) ?? name, name]))
  return {
    name: (name) => names.get(name) ?? name,
    id: (id) => ids.get(id) ?? id,
    tool: (name) => back.get(name) ?? name
  }
}

const injective = (
  given: ReadonlyArray<string>,
  { longest, pattern }: Taken
): ReadonlyMap<string, string> => {
  const isTaken = (text: string) => text.length <= longest && pattern.test(text)
  const all = new Map<string, string>()
  for (const text of given) if (isTaken(text)) all.set(text, text)
  const used = new Set(all.values())
  for (const text of given) {
    if (all.has(text)) continue
    let made = fitted(text, text, longest)
    for (let attempt = 1; used.has(made); attempt++) made = fitted(text, `${text}\n${attempt}`, longest)
    all.set(text, made)
    used.add(made)
  }
  return all
}

/** As much of the text as is taken anywhere, and a hash. */
const fitted = (text: string, hashed: string, longest: number): string => {
  const plain = text.replace(/[^a-zA-Z0-9_-]/gu, "_")
  const suffix = `_${hash(hashed)}`
  return `${/^[a-zA-Z_]/u.test(plain) ? "" : "_"}${plain}`.slice(0, longest - suffix.length) + suffix
}
