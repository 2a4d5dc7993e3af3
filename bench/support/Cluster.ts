import { randomBytes } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeAccount, makeNodes, onDatabase, sleep } from "../../test/support/Durability.ts"
import { type PostgresServer, removedAtTheEnd } from "../../test/support/PostgresServer.ts"
import type { Server } from "../../test/support/Process.ts"
import { until } from "../../test/support/Until.ts"
import { type Counting, startCounting } from "./Counting.ts"
import { startCuttingProxy } from "./CuttingProxy.ts"
import { seeded } from "./Seed.ts"

/** What was done to a process (`pid`), or to all: it began and ended in between, by the clock of this machine. */
export interface Fault {
  readonly kind: "kill -9" | "SIGTERM" | "SIGSTOP" | "database away" | "read-only" | "cuts" | "no tools"
  readonly pid?: number
  /** Calls of that process that were under way. */
  readonly inFlight?: number
  readonly from: number
  readonly to: number
}

const workspaceCount = 4
const startMillis = 60_000
const stopMillis = 60_000

export interface Setting {
  readonly name: string
  readonly seed: string
  /** The server, and its hands if it is ours to stop. */
  readonly url: string
  readonly postgres: PostgresServer | undefined
  readonly leaseSeconds: number
  readonly logs: string | undefined
}

/** Four workspaces of the first user, each with a connector to the tools. */
const makeWorkspaces = async (account: Awaited<ReturnType<typeof makeAccount>>, tools: Counting) => {
  const post = async (path: string, json: object): Promise<string> => {
    const answer = await account.client(0).request("POST", path, json)
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
    return ((await answer.json()) as { data: { id: string } }).data.id
  }
  return Promise.all(
    Array.from({ length: workspaceCount }, async (_, n) => {
      const id = await post("/api/workspaces", { name: `chaos ${n}` })
      const connector = { workspaceId: id, type: "mcp", providerName: "chaos", metadata: { url: tools.url } }
      return { id, connectorId: await post("/api/connectors", connector) }
    })
  )
}

/** Two nodes on a database of its own behind a proxy, and everything that can be done to them. */
export const makeCluster = async ({ leaseSeconds, logs, name, postgres, seed, url }: Setting) => {
  const database = `chaos_${randomBytes(6).toString("hex")}`
  const onServer = async (...statements: ReadonlyArray<string>) => {
    for (const statement of statements) {
      await onDatabase(`${url}/postgres`, (sql) => sql.unsafe(statement))
    }
  }
  await onServer(`create database ${database}`)
  const direct = `${url}/${database}`
  const proxied = new URL(direct)
  const proxy = await startCuttingProxy(
    proxied.hostname,
    Number(proxied.port || 5432),
    seeded(`${seed} proxy`)
  )
  Object.assign(proxied, { hostname: "127.0.0.1", port: String(proxy.port) })
  const nodes = makeNodes(proxied.href, () => ({}), {
    AGENTD_LEASE_SECONDS: String(leaseSeconds),
    AGENTD_DRAIN_SECONDS: "5",
    AGENTD_DATABASE_TIMEOUT_SECONDS: "10"
  })
  const faults: Array<Fault> = []
  const odd: Array<string> = []
  const all: Array<Server> = []
  let refusedStarts = 0
  const removeNodes = removedAtTheEnd(() => {
    for (const { stop } of all) void stop("SIGKILL")
  })
  const pidOf = (node: number) => nodes.server(node).pid
  const tools = await startCounting()

  const start = async (node: number) => {
    const limit = Date.now() + startMillis
    while (true) {
      try {
        await nodes.start(node)
        all.push(nodes.server(node))
        return
      } catch (error) {
        if (Date.now() > limit) throw error
        refusedStarts++
        await sleep(500)
      }
    }
  }
  const during = async ({ kind, pid }: Pick<Fault, "kind" | "pid">, work: () => Promise<unknown>) => {
    const from = Date.now()
    const inFlight = pid === undefined ? undefined : tools.inFlight(pid)
    await work()
    faults.push({
      kind,
      ...(pid !== undefined && { pid }),
      ...(inFlight !== undefined && { inFlight }),
      from,
      to: Date.now()
    })
  }
  const kill = (node: number) => during({ kind: "kill -9", pid: pidOf(node) }, () => nodes.kill(node))

  await Promise.all([start(0), start(1)])
  const account = await makeAccount(direct, nodes)
  const workspaces = await makeWorkspaces(account, tools)

  return {
    account,
    direct,
    faults: faults as ReadonlyArray<Fault>,
    odd,
    nodes,
    pidOf,
    proxy,
    refusedStarts: () => refusedStarts,
    start,
    tools,
    workspaces,
    kill,
    /** Asks it to stop, and starts it again when it has. */
    term: async (node: number) => {
      const server = nodes.server(node)
      await during({ kind: "SIGTERM", pid: server.pid }, async () => {
        const code = await Promise.race([server.stop("SIGTERM"), sleep(stopMillis)])
        if (code !== 0) odd.push(`node ${node} was told to stop and ended with ${code ?? "nothing"}`)
        if (code === undefined) await server.stop("SIGKILL")
      })
      await start(node)
    },
    freeze: (node: number, millis: number) =>
      during({ kind: "SIGSTOP", pid: pidOf(node) }, async () => {
        process.kill(pidOf(node), "SIGSTOP")
        await sleep(millis)
        process.kill(pidOf(node), "SIGCONT")
      }),
    cut: (millis: number) =>
      during({ kind: "cuts" }, async () => {
        proxy.cut(true)
        await sleep(millis)
        proxy.cut(false)
      }),
    /** Sessions that are opened meanwhile stay read-only afterwards, as long as somebody keeps them. */
    readOnly: (millis: number) =>
      during({ kind: "read-only" }, async () => {
        await onServer(
          `alter database ${database} set default_transaction_read_only = on`,
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`
        )
        await sleep(millis)
        await onServer(`alter database ${database} reset default_transaction_read_only`)
      }),
    restart: (mode: "fast" | "immediate", pauseMillis: number) =>
      during({ kind: "database away" }, async () => {
        await postgres?.stop(mode)
        await sleep(pauseMillis)
        await postgres?.start()
      }),
    hideTools: (millis: number) =>
      during({ kind: "no tools" }, async () => {
        tools.refuse()
        await sleep(millis)
        await tools.accept()
      }),
    /** The nodes are there and say that they are ready. */
    ready: (limitMillis: number) =>
      until(
        async () => {
          const answers = await Promise.all(
            [0, 1].map((node) =>
              fetch(`${nodes.server(node).baseUrl}/health/ready`, {
                signal: AbortSignal.timeout(5_000)
              }).then(
                async (answer) => {
                  await answer.body?.cancel()
                  return answer.status === 200
                },
                () => false
              )
            )
          )
          if (answers.includes(false)) await sleep(200)
          return !answers.includes(false)
        },
        "both nodes are ready",
        limitMillis
      ),
    close: async () => {
      removeNodes()
      await Promise.all(all.map((server) => server.stop("SIGKILL")))
      tools.close()
      proxy.close()
      if (logs !== undefined) {
        mkdirSync(logs, { recursive: true })
        for (const [n, { pid, stderr }] of all.entries()) {
          writeFileSync(join(logs, `${name}-${n}-${pid}.log`), stderr())
        }
      }
      await onServer(`drop database if exists ${database} with (force)`)
    }
  }
}

export type Cluster = Awaited<ReturnType<typeof makeCluster>>
