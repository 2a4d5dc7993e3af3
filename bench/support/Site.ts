import { randomBytes } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import {
  makeAccount,
  makeNodes,
  onDatabase,
  sleep,
  startModel,
  startTools
} from "../../test/support/Durability.ts"
import { examine, journaled } from "../../test/support/Repeats.ts"

export interface Setting {
  readonly modelMillis: number
  readonly toolMillis: number
  readonly env: Readonly<Record<string, string>>
}

/** Two nodes on a database of its own on this server, with a mock model and a mock MCP server. */
export const makeSite = async (server: string, { env, modelMillis, toolMillis }: Setting) => {
  const name = `bench_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
  const url = `${server}/${name}`
  const model = await startModel(modelMillis)
  const tools = await startTools(toolMillis)
  const nodes = makeNodes(url, model.env, env)
  await Promise.all([nodes.start(0), nodes.start(1)])
  const account = await makeAccount(url, nodes, tools.url)
  const submit = async (count: number, prompt = (job: number) => `job ${job}`, level = "autonomous") => {
    for (let first = 1; first <= count; first += 20) {
      await Promise.all(
        Array.from({ length: Math.min(20, count - first + 1) }, (_, n) =>
          account.submit(n % 2, prompt(first + n), level)
        )
      )
    }
  }
  return {
    account,
    model,
    name,
    nodes,
    submit,
    tools,
    url,
    examined: async () =>
      examine(await journaled(url), { model: model.calls, tools: tools.uses }, nodes.kills),
    close: async () => {
      await nodes.stopAll()
      model.close()
      tools.close()
      await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
    }
  }
}

export type Site = Awaited<ReturnType<typeof makeSite>>

/** The messages of a log, with how often each is there. */
export const logOf = (site: Site, node: number) => {
  const lines = site.nodes
    .server(node)
    .stderr()
    .split("\n")
    .filter((line) => line !== "")
  const counts = new Map<string, number>()
  for (const line of lines) {
    const [, level, message] = /\b(WARN|ERROR)\b.*? message="([^"]*)"/i.exec(line) ?? []
    if (level !== undefined) counts.set(`${level} ${message}`, (counts.get(`${level} ${message}`) ?? 0) + 1)
  }
  const most = Array.from(counts).sort(([, a], [, b]) => b - a)
  return {
    lines: lines.length,
    warnings: most
      .slice(0, 8)
      .map(([message, count]) => `${count} × ${message}`)
      .join("; ")
  }
}

/** Makes a run now and then through both nodes, and counts how that was answered. */
export const trickle = (site: Site, everyMillis: number) => {
  let going = true
  const answers = new Map<string, number>()
  const promised: Array<string> = []
  let slowest = 0
  const ended = (async () => {
    for (let n = 0; going; n++) {
      const started = performance.now()
      const { token, workspaceId } = site.account
      const answer = await fetch(`${site.nodes.server(n % 2).baseUrl}/api/tasks`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ workspaceId, prompt: `job ${100_000 + n}`, autonomyLevel: "autonomous" })
      })
      const { data } = (await answer.json()) as { data?: { id: string } }
      if (answer.status === 201 && data !== undefined) promised.push(data.id)
      answers.set(String(answer.status), (answers.get(String(answer.status)) ?? 0) + 1)
      slowest = Math.max(slowest, performance.now() - started)
      await sleep(everyMillis)
    }
  })()
  return async () => {
    going = false
    await ended
    return { answers, promised, slowest }
  }
}

/** The processes of the nodes: children of this one. */
export const usage = () =>
  readdirSync("/proc").flatMap((entry) => {
    try {
      if (!readFileSync(`/proc/${entry}/cmdline`, "utf8").includes("src/main.ts")) return []
      const fields = readFileSync(`/proc/${entry}/stat`, "utf8")
        .replace(/^.*\) /, "")
        .split(" ")
      if (Number(fields[1]) !== process.pid) return []
      const [, kib] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${entry}/status`, "utf8")) ?? []
      // utime and stime, in ticks of 10 ms.
      return [{ mib: Number(kib) / 1024, cpuMillis: (Number(fields[11]) + Number(fields[12])) * 10 }]
    } catch {
      return []
    }
  })

/** Memory and CPU of each node while it has nothing to do for 10 s. */
export const resting = async () => {
  const millis = 10_000
  const before = usage()
  await sleep(millis)
  return usage()
    .map(({ cpuMillis, mib }, n) => {
      const cpu = ((cpuMillis - (before[n]?.cpuMillis ?? 0)) / millis) * 100
      return `${mib.toFixed(0)} MiB ${cpu.toFixed(1)} % CPU`
    })
    .join(" and ")
}
