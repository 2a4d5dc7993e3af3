/** What of an answer goes past the package of its provider. */
export interface PlainText {
  /** Takes bytes of the answer; what it answers is for the package. */
  readonly pass: (bytes: Uint8Array) => Uint8Array<ArrayBuffer>
  /** What it held back at the end, for the package as well. */
  readonly rest: () => Uint8Array<ArrayBuffer>
  /** The package has told a piece of text, of this part. */
  readonly told: (id: string) => void
  /** Resolves when there is room for more; undefined where there is. */
  readonly room: () => Promise<void> | undefined
}

/** No piece of text comes near it, in UTF-16 code units. */
const mostHeld = 65_536
const utf8 = new TextEncoder()
const nothing: Uint8Array<ArrayBuffer> = new Uint8Array()

/**
 * Reads chunks of a chat completion that bring a piece of text and nothing else, nine in ten of most answers: the package
 * takes each through five streams of the web, some 30 µs. All others are the package's, and so is the first text behind any
 * of them, and what comes until it has told that: so nothing is told in another order than it came.
 */
export const makePlainText = (
  tell: (id: string, delta: string) => void,
  room: PlainText["room"]
): PlainText => {
  const decoder = new TextDecoder()
  let held = ""
  /** Where lines or events look otherwise, or do not end, the package reads all of it. */
  let isOff = false
  /** Texts that the package was given and has not told yet. */
  let given = 0
  /** Of the text that was told last, and goes on. */
  let id: string | undefined

  const take = (event: string): string => {
    if (!isOff && event.startsWith(":") && !event.includes("\n")) return ""
    const texts = isOff ? undefined : textsOf(event)
    isOff ||= texts === undefined
    if (texts?.plain !== undefined && id !== undefined && given === 0) {
      tell(id, texts.plain)
      return ""
    }
    if (texts?.plain === undefined) id = undefined
    given += texts?.count ?? 0
    return `${event}\n\n`
  }
  const forward = (text: string) => (text === "" ? nothing : utf8.encode(text))

  return {
    pass: (bytes) => {
      const text = decoder.decode(bytes, { stream: true })
      held += text
      isOff ||= held.length > mostHeld || text.includes("\r")
      const end = isOff ? held.length : held.lastIndexOf("\n\n") + 2
      if (!isOff && end < 2) return nothing
      const whole = held.slice(0, end)
      held = held.slice(end)
      if (isOff) return forward(whole)
      let left = ""
      for (let at = 0; at < whole.length; ) {
        const next = whole.indexOf("\n\n", at)
        left += take(whole.slice(at, next))
        at = next + 2
      }
      return forward(left)
    },
    rest: () => forward(held + decoder.decode()),
    told: (part) => {
      given = Math.max(0, given - 1)
      id = given === 0 ? part : undefined
    },
    room
  }
}

const start = "data: {"

interface Texts {
  /** How many pieces of text the package will tell of it. */
  readonly count: number
  /** The one that is all there is. */
  readonly plain?: string
}

const none: Texts = { count: 0 }

/** What the package will tell of an event; undefined where that is not known. */
const textsOf = (event: string): Texts | undefined => {
  if (event === "data: [DONE]") return none
  if (!event.startsWith(start) || event.includes("\n")) return undefined
  let chunk: Chunk
  try {
    chunk = JSON.parse(event.slice(start.length - 1))
  } catch {
    // For the package this is the end.
    return none
  }
  const { choices, error, usage } = chunk
  const choice = Array.isArray(choices) ? choices[0] : undefined
  const delta = choice?.delta
  if (typeof delta !== "object" || delta === null) return none
  const { content, refusal } = delta
  if (Array.isArray(content)) return undefined
  const count = Number(isText(content)) + Number(isText(refusal))
  if (error !== undefined || usage != null || choices?.length !== 1) return { count }
  if (choice?.finish_reason != null || !isText(content)) return { count }
  for (const name in delta)
    if (name !== "content" && name !== "role" && !isEmpty(delta[name])) return { count }
  return { count, plain: content }
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== ""

const isEmpty = (value: unknown): boolean =>
  value == null || value === "" || (Array.isArray(value) && value.length === 0)

interface Chunk {
  readonly error?: unknown
  readonly usage?: unknown
  readonly choices?: ReadonlyArray<{
    readonly delta?: Readonly<Record<string, unknown>> | null
    readonly finish_reason?: unknown
  } | null>
}
