let given = { baseUrl: "", token: "" }

export const connect = (to: typeof given) => {
  given = to
}

/** What orval's functions send their requests with: a stream of events is handed out as it is, not read to its end. */
export const orvalFetch = async <T>(url: string, init: RequestInit): Promise<T> => {
  const response = await fetch(`${given.baseUrl}${url}`, {
    ...init,
    headers: { ...init.headers, authorization: `Bearer ${given.token}` }
  })
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream")
  const text = isStream ? "" : await response.text()
  const data = isStream ? response.body : text === "" ? undefined : JSON.parse(text)
  return { data, status: response.status, headers: response.headers } as T
}
