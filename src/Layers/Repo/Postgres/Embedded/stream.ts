import { Duplex } from "node:stream"
import type { Client, Engine } from "./engine.ts"

const cancelRequest = 80877102
const sslRequest = 80877103
const gssRequest = 80877104
const terminate = 0x58

/** The code of a frame that comes before the start of a session, which alone has no type byte. */
const preSessionCode = (bytes: Uint8Array): number | undefined =>
  bytes.length >= 8 && bytes[0] === 0 ? new DataView(bytes.buffer, bytes.byteOffset).getInt32(4) : undefined

/**
 * A connection to the embedded database, as a client of the wire protocol sees
 * it: every write holds whole frames, every one of them is answered in order.
 *
 * A request to cancel closes its connection and does nothing else: the one
 * session can't be interrupted. After `destroy` nothing is pushed, and the
 * session is free for the next connection.
 */
export const connect = (engine: Engine): Duplex => {
  const stream = new Duplex({
    // A write of the client is a whole batch: smaller limits would only hold it back.
    writableHighWaterMark: 1024 * 1024,
    read: () => {},
    write: (chunk: Uint8Array, _encoding, done) => {
      switch (preSessionCode(chunk)) {
        case cancelRequest:
          stream.destroy()
          return done()
        case sslRequest:
        case gssRequest:
          stream.push(Uint8Array.of(0x4e))
          return done()
      }
      if (chunk[0] === terminate) return done()
      engine.submit(client, new Uint8Array(chunk), done)
    },
    final: (done) => {
      done()
      stream.destroy()
    },
    destroy: (error, done) => {
      engine.release(client)
      done(error)
    }
  })
  const client: Client = {
    onData: (bytes) => stream.push(bytes),
    onLost: (error) => stream.destroy(error)
  }
  return stream
}
