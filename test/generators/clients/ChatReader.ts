/** Where the service is, and who asks. */
export interface Given {
  readonly baseUrl: string
  readonly token: string
}

/** What was read of a stream. */
export interface Seen {
  readonly ids: Array<number>
  readonly names: Array<string>
  /** The deltas, joined. */
  text: string
  turnId?: string
  reply?: string
}

/** How one kind of client reads a chat. */
export interface ChatReader {
  /** Sends a message and reads the answer to its end, or breaks off after `most` events. */
  readonly send: (
    given: Given,
    message: { readonly workspaceId: string; readonly content: string },
    most?: number
  ) => Promise<Seen>
  /** Takes the answer up behind an event and reads to its end; nothing, if that is the end. */
  readonly resume: (given: Given, turnId: string, lastId: number) => Promise<Seen>
}

export interface Watched extends Seen {
  /** What each request was answered with, and the id that it asked behind. */
  readonly requests: ReadonlyArray<readonly [status: number, lastId: string | undefined]>
}

/**
 * Reads the events of a turn as an EventSource does by itself: it connects again whenever the stream ends, until it is
 * told to stop. The first connection breaks off after `most` events.
 */
export type Watch = (given: Given, turnId: string, most?: number) => Promise<Watched>

export const nothing = (): Seen => ({ ids: [], names: [], text: "" })
