import { IncomingMessage, type ServerResponse } from "node:http"

/** Enough for chunks of 128 bytes; a client that sends whole buffers has some tens. */
const mostPieces = 8_192

const exceeded = "agentd:tooManyPieces"

/**
 * A request whose body is read no further once it has come in more than 8,192 pieces. Each costs as much as a large
 * one, and 2 MiB of them may be read at once: chunks of one byte held up everybody for a third of a second, also
 * while the rest of a body was thrown away that had been refused.
 */
export class PiecewiseMessage extends IncomingMessage {
  #pieces = 0

  // No event tells of pieces before somebody reads them, and to listen for them would begin to.
  override push(piece: unknown, encoding?: BufferEncoding): boolean {
    if (piece === null || ++this.#pieces <= mostPieces) return super.push(piece, encoding)
    if (this.#pieces === mostPieces + 1) {
      this.pause()
      if (!this.emit(exceeded)) this.socket.destroy()
    }
    return false
  }
}

/** What is to become of a request that `PiecewiseMessage` stopped reading; else its connection is cut. */
export const onTooManyPieces = (
  request: IncomingMessage,
  response: ServerResponse,
  refuse: (request: IncomingMessage, response: ServerResponse) => void
): void => {
  request.once(exceeded, () => refuse(request, response))
}
