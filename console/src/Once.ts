/** The headers of a request that has a key. */
type Key = Readonly<Record<string, string>>

/** Sends what a request says under a key, until it is done. */
export type Once = <A>(payload: unknown, send: (key: Key) => Promise<A>) => Promise<A>

/**
 * Whatever is sent again, since nobody heard the answer, is done once: it has the key of the time before. What says
 * something else, or is sent after an answer, is another.
 */
export const makeOnce = (newKey: () => Key): Once => {
  let sent: { readonly body: string; readonly key: Key } | undefined
  return async (payload, send) => {
    const body = JSON.stringify(payload)
    if (sent?.body !== body) sent = { body, key: newKey() }
    const answer = await send(sent.key)
    sent = undefined
    return answer
  }
}
