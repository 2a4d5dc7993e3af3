import { connect } from "node:net"
import { crc32 } from "node:zlib"

const micros = () => Number(process.hrtime.bigint() / 1000n)

/** A piece of an answer, with when it came: looked at when nothing is measured any more. */
interface Piece {
  readonly at: number
  readonly text: string
}

export interface TokenReader {
  /** Whether text of the model has come. */
  readonly hasBegun: () => boolean
  /** Ends with the connection. */
  readonly end: Promise<void>
  readonly leave: () => void
  readonly pieces: ReadonlyArray<Piece>
}

/** Sends a message and keeps what comes, over a bare socket: a generator is to cost less than what it measures. */
export const readTokens = (baseUrl: string, path: string, token: string, json: object): TokenReader => {
  const { hostname, port } = new URL(baseUrl)
  const body = JSON.stringify(json)
  const pieces: Array<Piece> = []
  let begun = false
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  socket.setEncoding("latin1")
  socket.on("data", (data) => {
    const text = String(data)
    pieces.push({ at: micros(), text })
    if (!begun) begun = /"(?:delta|content)":"\d/.test(text)
  })
  const end = new Promise<void>((done) => {
    socket.once("close", () => done())
    socket.once("error", () => socket.destroy())
  })
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
  return { hasBegun: () => begun, end, leave: () => socket.destroy(), pieces }
}

interface Delta {
  readonly at: number
  readonly text: string
}

/** The events of an answer in chunked coding, each with when its last byte came. */
const framesOf = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Delta> => {
  const frames: Array<Delta> = []
  let raw = ""
  let text = ""
  let isHead = true
  let left = 0
  let isBreak = false
  for (const piece of pieces) {
    raw += piece.text
    let at = 0
    if (isHead) {
      const end = raw.indexOf("\r\n\r\n")
      if (end === -1) continue
      if (!raw.startsWith("HTTP/1.1 200")) throw new Error(raw.slice(0, 500))
      isHead = false
      at = end + 4
    }
    while (at < raw.length) {
      if (left > 0) {
        const some = raw.slice(at, at + left)
        text += some
        left -= some.length
        at += some.length
        if (left === 0) isBreak = true
        continue
      }
      const line = raw.indexOf("\r\n", at)
      if (line === -1) break
      if (!isBreak) left = Number.parseInt(raw.slice(at, line), 16)
      isBreak = false
      at = line + 2
    }
    raw = raw.slice(at)
    const whole = text.lastIndexOf("\n\n")
    if (whole === -1) continue
    for (const frame of text.slice(0, whole).split("\n\n")) frames.push({ at: piece.at, text: frame })
    text = text.slice(whole + 2)
  }
  return frames
}

/** The deltas of a stream of agentd, whose ids have to grow, or of the model itself. */
const deltasOf = (frames: ReadonlyArray<Delta>): ReadonlyArray<Delta> => {
  let id = 0
  return frames.flatMap(({ at, text }) => {
    const [, data] = /^data: (.*)$/m.exec(text) ?? []
    if (data === undefined || data === "[DONE]") return []
    const value = JSON.parse(data)
    const [, given] = /^id: (\d+)$/m.exec(text) ?? []
    if (given !== undefined && Number(given) <= id) throw new Error(`event ${given} behind ${id}`)
    id = Number(given ?? 0)
    if (value.error !== undefined) throw new Error(`${value.code}: ${value.error}`)
    const delta = value.delta ?? value.choices?.[0]?.delta?.content
    return typeof delta === "string" ? [{ at, text: delta }] : []
  })
}

export interface Told {
  /** When a token came and how long it was on its way, in microseconds. */
  readonly tokens: ReadonlyArray<{ readonly at: number; readonly micros: number }>
  readonly frames: number
}

/** What a reader was told of a paced answer; fails unless it is what the model sent, as far as it was read. */
export const pacedTokens = ({ pieces }: TokenReader, isWhole: boolean): Told => {
  const frames = framesOf(pieces)
  // An answer that is begun again takes the place of what it said before.
  const deltas = deltasOf(
    frames.slice(frames.findLastIndex(({ text }) => text.includes('"status":"thinking"')) + 1)
  )
  const tokens: Array<{ at: number; micros: number }> = []
  let text = ""
  let sum: number | undefined
  for (const delta of deltas) {
    text += delta.text
    const parts = text.split(" ")
    text = parts.pop() ?? ""
    for (const part of parts) {
      const [number, sentAt] = part.split(":").map(Number)
      if (number !== tokens.length || sentAt === undefined)
        throw new Error(`token ${part} behind ${tokens.length}`)
      sum = crc32(`${part} `, sum)
      tokens.push({ at: delta.at, micros: delta.at - sentAt })
    }
  }
  if (isWhole && text !== `=${sum ?? 0}`) throw new Error(`the text is not what was sent: ${text}`)
  return { tokens, frames: deltas.length }
}

/** How many frames it took; fails unless the text of a fast answer is what the model sent. */
export const fastFrames = ({ pieces }: TokenReader, tokens: number): number => {
  const deltas = deltasOf(framesOf(pieces))
  const text = deltas.map((delta) => delta.text).join("")
  const expected = Array.from({ length: tokens }, (_, n) => `w${n} `).join("")
  if (text !== expected)
    throw new Error(`the text is not what was sent: ${text.length} of ${expected.length}`)
  return deltas.length
}
