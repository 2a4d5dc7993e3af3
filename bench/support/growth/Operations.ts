import { sleep } from "../../../test/support/Durability.ts"
import type { Site } from "../Site.ts"

/** SQL: the id that a seed gives to the n-th of its kind; as long as those that the service makes. */
export const idSql = (prefix: string, n: string) => `'${prefix}_' || lpad((${n})::text, 26, '0')`

export const idOf = (prefix: string, n: number) => `${prefix}_${String(n).padStart(26, "0")}`

// biome-ignore lint/suspicious/noExplicitAny: what a client in any language sees
export const ask = async (site: Site, method: string, path: string, json?: object): Promise<any> => {
  const answer = await site.client(0).request(method, path, json)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`)
  return text === "" ? undefined : JSON.parse(text)
}

/** The path of a list, in the workspace of the site. */
export const listed =
  (path: string, more = "") =>
  (site: Site) =>
    ask(site, "GET", `${path}?workspaceId=${site.workspaceId}${more}`)

/** A task of the offline model, from its POST to the end of its events. */
export const runTask = async (site: Site, prompt = "hello") => {
  const { data } = await ask(site, "POST", "/api/tasks", {
    workspaceId: site.workspaceId,
    prompt,
    selectedProvider: "offline"
  })
  const events = await site.client(0).request("GET", `/api/runs/${data.id}/events`)
  const text = await events.text()
  if (!text.includes("event: done")) throw new Error(`${data.id}: ${text.slice(-300)}`)
}

/** Answers after how many ms the first event of a message's answer was there, and its last. */
export const say = async (site: Site, message: object) => {
  const began = performance.now()
  const answer = await site
    .client(0)
    .request("POST", "/api/chat/messages", { workspaceId: site.workspaceId, ...message })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  let first: number | undefined
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    first ??= performance.now() - began
    text += value
  }
  if (!text.includes("event: done")) throw new Error(`chat: ${answer.status} ${text.slice(-300)}`)
  return { first: first ?? Number.NaN, whole: performance.now() - began }
}

/** Waits until a statement of the site's database counts nothing more. */
export const untilNone = async (site: Site, counting: string) => {
  while (true) {
    const rows = (await site.run(counting)) as ReadonlyArray<{ readonly count: number }>
    if (rows[0]?.count === 0) return
    await sleep(20)
  }
}
