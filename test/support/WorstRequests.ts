import { Api } from "../../src/Api/Api.ts"
import { type Room, roomOf, worstTexts, worstValues, writes } from "./WorstBodies.ts"

export interface WorstRequest {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly body?: () => string
  readonly headers?: Readonly<Record<string, string>>
}

/** What paths name: the id of the resource by what is before it. */
export type Resources = Readonly<Record<string, string>>

/** Fields of every endpoint: those that one does not know are ignored. */
export const baseBody = (workspaceId: string) => ({
  workspaceId,
  name: "n",
  prompt: "p",
  content: "c",
  key: "k",
  value: "v",
  schedule: "@daily",
  type: "custom",
  provider: "offline",
  model: "m",
  email: "nobody@example.org",
  decision: "approve"
})

/** The body with one field that is this JSON text. */
const withField = (base: object, name: string, json: string): string => {
  const { [name]: _, ...rest } = base as Record<string, unknown>
  return `{${JSON.stringify(name)}:${json},${JSON.stringify(rest).slice(1)}`
}

/** The place of an endpoint; nothing is deleted, which others need. */
const to = (
  resources: Resources,
  { method, path }: { readonly method: string; readonly path: string }
): Pick<WorstRequest, "method" | "path"> => ({
  method,
  path: path
    .replace(/^(.*?)\/:id/u, (_, before: string) =>
      method === "DELETE" ? `${before}/none` : `${before}/${resources[before] ?? "none"}`
    )
    .replace(/:\w+/gu, "none")
})

/** What is left of a body's limit for the fields beside. */
const others = 2_000

/**
 * Odd JSON in place of the whole body, and in a field that nobody knows, to every endpoint: as much of it as is
 * parsed, and where `isAll` as much as the largest and the smallest body may have. The same as each field: of the same
 * name but once, unless `isAll`.
 */
export const worstBodies = (
  workspaceId: string,
  resources: Resources,
  isAll = false
): ReadonlyArray<WorstRequest> => {
  const base = baseBody(workspaceId)
  const seen = new Set<string>()
  return writes.flatMap((write) => {
    const target = to(resources, write)
    const parsed: Room = { bytes: write.limit - others, values: 9_900, keys: 990, levels: 30 }
    const large = { "1 MiB": roomOf(1024 * 1024 - others), "64 KiB": roomOf(64 * 1024 - others) }
    const rooms = isAll || write.id === "memory.upsert" ? { parsed, ...large } : { parsed }
    const fields = write.fields.filter((field) => isAll || !seen.has(field))
    for (const field of fields) seen.add(field)
    return Object.entries(worstValues).flatMap(([what, make]) => [
      ...Object.entries(rooms).flatMap(([size, room]) => [
        { ...target, name: `${write.id}: the whole is ${what} (${size})`, body: () => make(room) },
        {
          ...target,
          name: `${write.id}: an unknown field is ${what} (${size})`,
          body: () => withField(base, "extra", make(room))
        }
      ]),
      ...fields.map((field) => ({
        ...target,
        name: `${write.id}: ${field} is ${what}`,
        body: () => withField(base, field, make(parsed))
      }))
    ])
  })
}

const longTexts: Readonly<Record<string, number>> = {
  prompt: 10_000,
  systemPrompt: 10_000,
  content: 100_000,
  value: 100_000
}

/** The longest texts that are taken, such that what is done with them costs the most. */
export const worstLongTexts = (workspaceId: string, resources: Resources): ReadonlyArray<WorstRequest> =>
  writes.flatMap((write) =>
    write.fields.flatMap((field) => {
      const length = longTexts[field]
      if (length === undefined) return []
      return Object.entries(worstTexts(length)).map(([what, text]) => ({
        ...to(resources, write),
        name: `${write.id}: ${field} of ${length} is ${what}`,
        body: () => withField(baseBody(workspaceId), field, JSON.stringify(text))
      }))
    })
  )

const most = 15_000
const headers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a long token": { authorization: `Bearer agentd_${"x".repeat(most)}` },
  "a token behind blanks": { authorization: `Bearer${" ".repeat(most)}x` },
  "many cookies": { cookie: "a=b; ".repeat(most / 5) },
  "a cookie of semicolons": { cookie: ";".repeat(most) },
  "a cookie of quotes": { cookie: `session="${'"'.repeat(most)}` },
  "an escaped cookie": { cookie: `session=${"%F0%9F%98%80".repeat(most / 12)}` },
  "a long cookie": { cookie: `session=agentd_${"x".repeat(most)}` },
  "a long Last-Event-ID": { "last-event-id": "1".repeat(most) },
  "a long Idempotency-Key": { "idempotency-key": "k".repeat(most) },
  "a long X-Request-Id": { "x-request-id": `${"a".repeat(most)}!` },
  "many encodings": { "accept-encoding": "gzip;q=0.1,".repeat(most / 11) },
  "many zeros": { "accept-encoding": `gzip;q=0.${"0".repeat(most)}1` },
  "a type of quotes": { "content-type": `application/json;${'"a'.repeat(most / 2)}` },
  "a type of backslashes": { "content-type": `application/json;"${"\\".repeat(most)}` },
  "a type of semicolons": { "content-type": `application/json${";".repeat(most)}` },
  "a type of blanks": { "content-type": `application/json;${" ".repeat(most)}charset=utf-8` },
  "a long origin": { origin: `http://${"a.".repeat(most / 2)}` },
  "many headers": Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`a${n}`, "b"]))
}
const queries: Readonly<Record<string, string>> = {
  "many of one name": "a=1&".repeat(most / 4),
  "many names": Array.from({ length: most / 7 }, (_, n) => `${n.toString(36)}=1`).join("&"),
  "many numbers": Array.from({ length: most / 7 }, (_, n) => `${n}=1`).join("&"),
  "many without a name": "&".repeat(most),
  "many limits": "limit=1&".repeat(most / 8),
  "many workspaces": "workspaceId=a&".repeat(most / 14),
  "many __proto__": "__proto__=1&".repeat(most / 12),
  escapes: `a=${"%F0%9F%98%80".repeat(most / 12)}`,
  "broken escapes": `a=${"%".repeat(most)}`,
  pluses: `key=${"+".repeat(most)}`
}

/** Odd queries and headers, to every endpoint. */
export const worstHeads = (workspaceId: string, resources: Resources): ReadonlyArray<WorstRequest> =>
  Object.values(Api.groups).flatMap((group) =>
    Object.values(group.endpoints).flatMap((endpoint) => {
      const id = `${group.identifier}.${endpoint.identifier}`
      const target = to(resources, endpoint)
      return [
        ...Object.entries(queries).map(([what, query]) => ({
          ...target,
          name: `${id}: ${what} in the query`,
          path: `${target.path}?workspaceId=${workspaceId}&${query}`
        })),
        ...Object.entries(headers).map(([what, given]) => ({
          ...target,
          name: `${id}: ${what}`,
          path: `${target.path}?workspaceId=${workspaceId}`,
          headers: given
        })),
        { ...target, name: `${id}: a path of slashes`, path: `${target.path}${"/".repeat(most)}` },
        { ...target, name: `${id}: a path of parts`, path: `${target.path}${"/a".repeat(most / 2)}` },
        { ...target, name: `${id}: a path of escapes`, path: `${target.path}/${"%F0%9F".repeat(most / 6)}` }
      ]
    })
  )

const listed = (count: number) => Array.from({ length: count }, (_, n) => n).join(",")
const schedules = [
  "0 0 29 2 1#5",
  "0 0 0 29 2 1#5",
  "59 59 23 29 2 6#5",
  "0 0 29 2 +1#5",
  "0 0 29 2 +1",
  "0 0 L 2 1#5",
  "0 0 LW 2 *",
  "0 0 31W 1 *",
  "0 0 1 1 +1",
  "0 0 30 2 *",
  "0 0 31 2,4,6,9,11 *",
  "0 0 29 2 *",
  "* * 2 * * *",
  "1-59 1-59 2 * * *",
  "1-58/57 1-58/57 2 25-31 3 0",
  "30 30 2 25-31 3 7",
  "59 59 2 31 3 0",
  "1,3,5 7,9,11 2 31 3 SUN#5",
  `${listed(35)} * * * * *`,
  `${listed(30)} 59 2 31 3 0`,
  "*/59 */59 */23 */30 */11 */6",
  "* * * * * *",
  "0 0 0 1 1 * ",
  "@yearly",
  "0 30 2 29 2 0",
  "0 30 1 29 2 0#5",
  "1-59 0 0 29 2 0#5",
  "1-59 1-59 0 29 2 0#5",
  "1-59 30 1-2 29 3 0#5"
]
const zones = ["UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"]
const moments = ["0001-01-01T00:00:00Z", "2026-03-29T00:00:00Z", "9990-01-01T00:00:00Z"]

/** Schedules that are rare, or lie in what daylight saving skips, as a preview of a hundred instants. */
export const worstSchedules: ReadonlyArray<WorstRequest> = schedules.flatMap((schedule) =>
  zones.flatMap((timezone) =>
    moments.map((after) => ({
      name: `cronJobs.preview: ${schedule.slice(0, 30)} in ${timezone} after ${after}`,
      method: "POST",
      path: "/api/cron-jobs/preview",
      body: () => JSON.stringify({ schedule, timezone, after, count: 100 })
    }))
  )
)
