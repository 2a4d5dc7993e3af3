import { sleep } from "./Durability.ts"

export interface Repeated {
  readonly status: number
  readonly text: string
  readonly isReplay: boolean
  /** How often it was sent. */
  readonly sent: number
}

/**
 * A POST with a key as a client sends it that wants one answer: again where the connection broke off, the first one is
 * still at work, or the service is not available, to one address after the other, until `limitMillis`.
 */
export const postUntilAnswered = async (
  addresses: ReadonlyArray<() => string | undefined>,
  {
    json,
    key,
    path,
    token
  }: { readonly path: string; readonly token: string; readonly key: string; readonly json: object },
  limitMillis = 180_000
): Promise<Repeated> => {
  const limit = Date.now() + limitMillis
  for (let sent = 1; ; sent++) {
    const address = addresses[sent % addresses.length]?.()
    const answer = address === undefined ? undefined : await once(`${address}${path}`, token, key, json)
    if (answer !== undefined && !isToBeRepeated(answer)) return { ...answer, sent }
    if (Date.now() > limit) throw new Error(`no answer: ${answer?.status} ${answer?.text}`)
    await sleep(20)
  }
}

const isToBeRepeated = ({ code, status }: { readonly status: number; readonly code: string | null }) =>
  status === 503 || code === "idempotency_in_progress"

const once = async (url: string, token: string, key: string, json: object) => {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "idempotency-key": key
      },
      body: JSON.stringify(json)
    })
    return {
      status: response.status,
      code: response.headers.get("x-error-code"),
      isReplay: response.headers.get("idempotency-replayed") === "true",
      text: await response.text()
    }
  } catch {
    return undefined
  }
}
