import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Embedded from "../../src/Layers/Repo/Postgres/Embedded.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { metadataRow, sealedField } from "../../src/Schemas/ConnectorSecrets.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { type Asked, listedTool, startScripted } from "../support/Mcp.ts"
import { client, emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { makeClient, makeDataDir, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"
import { startReceiver, verified } from "../support/WebhookReceiver.ts"

/** What a version left behind when it was killed; the head of its file says what was going on. */
interface Dump {
  readonly migration: string
  /** Of the user of `token`, oldest first; that one is the first. */
  readonly tokens: ReadonlyArray<string>
  readonly token: string
  readonly workspaceId: string
  /** The model of what was over, where that was kept. */
  readonly completedBy: string | null
  /** Of its connectors, oldest first. */
  readonly connectors: ReadonlyArray<string>
  /** How many runs there are once all is done, and how those ended that are not COMPLETED, by their prompts. */
  readonly runs: number
  readonly ends?: Readonly<Record<string, string>>
  /** Who answers for its cron jobs, and that its tokens know what they were made by. */
  readonly maker?: string
  /** What people are asked about a call of a connector's tool is bound to, besides where its server is. */
  readonly bound?: { readonly connectorId: string; readonly tool: string; readonly definition: string }
  /** A task that was asked for with an Idempotency-Key. */
  readonly keyed?: { readonly key: string; readonly prompt: string; readonly runId: string }
  /** Of a webhook that is still to be told of some events. */
  readonly webhookSecret?: string
  /** A connector with secrets that were not sealed, and which they are. */
  readonly plain?: { readonly connectorId: string; readonly secrets: object; readonly open: object }
}

const dumps: ReadonlyArray<Dump> = [
  {
    migration: "0007",
    tokens: ["bootstrap"],
    token: "agentd_EFVgH8nIEswZMYd58M9gKyOGk5rI2iytG0UaM5r82gw",
    workspaceId: "ws_01m812c5wpd9757b61twmvynx1",
    completedBy: null,
    connectors: ["docs"],
    runs: 8
  },
  {
    migration: "0011",
    tokens: ["bootstrap"],
    token: "agentd_W-hq_LR289Goxtmkhab_Wgeh1MuI3pklQVWO77RU0Go",
    workspaceId: "ws_01m81cnj4vxfmye14mrvertxy8",
    completedBy: null,
    connectors: ["docs", "local"],
    runs: 8,
    bound: {
      connectorId: "conn_01m81cnjr4jna4wpv3pfhptxcn",
      tool: "write",
      definition: "4e3769b17f5d1dd4830ce0deb3c4899a8d2bd1f736c5667013fc6ba9f0243348"
    }
  },
  {
    migration: "0018",
    tokens: ["bootstrap", "child", "browser session"],
    token: "agentd_fbMokE6diEdQEzYVx8DwlxaJl2cTcqpedERRyUpZV2s",
    workspaceId: "ws_01m81qfe9tcfcbxm0tewwcxq3b",
    completedBy: "offline",
    connectors: ["docs", "hoard"],
    runs: 8,
    bound: {
      connectorId: "conn_01m81qfepsfvhyqm3ya1kv4tq8",
      tool: "write",
      definition: "4e3769b17f5d1dd4830ce0deb3c4899a8d2bd1f736c5667013fc6ba9f0243348"
    },
    plain: {
      connectorId: "conn_01m81qfeq2b54k7czy79nazhjz",
      secrets: { apiKey: "plain-in-metadata-0018", nested: { token: "nested-in-metadata-0018" } },
      open: { colour: "green" }
    }
  },
  {
    migration: "0023",
    tokens: ["bootstrap", "child", "browser session"],
    token: "agentd_t-xrQEe_uAwKseP1T_O-etA779lr1lESVfpRLGyKUs0",
    workspaceId: "ws_01m822bgff362rk3vj79sc0phc",
    completedBy: "offline",
    connectors: ["docs"],
    runs: 11,
    ends: { failed: "FAILED", cancelled: "CANCELLED" },
    maker: "user_01m822bgfdhm3mw6a7mwgjjzdx",
    bound: {
      connectorId: "conn_01m822bgn7f67hhhebvkaxa7wf",
      tool: "write",
      definition: "4e3769b17f5d1dd4830ce0deb3c4899a8d2bd1f736c5667013fc6ba9f0243348"
    }
  },
  {
    migration: "0028",
    tokens: ["bootstrap", "child", "browser session"],
    token: "agentd_t-xrQEe_uAwKseP1T_O-etA779lr1lESVfpRLGyKUs0",
    workspaceId: "ws_01m822bgff362rk3vj79sc0phc",
    completedBy: "offline",
    connectors: ["docs"],
    runs: 11,
    ends: { failed: "FAILED", cancelled: "CANCELLED" },
    maker: "user_01m822bgfdhm3mw6a7mwgjjzdx",
    bound: {
      connectorId: "conn_01m822bgn7f67hhhebvkaxa7wf",
      tool: "write",
      definition: "4e3769b17f5d1dd4830ce0deb3c4899a8d2bd1f736c5667013fc6ba9f0243348"
    }
  },
  {
    migration: "0034",
    tokens: ["bootstrap", "child", "browser session"],
    token: "agentd_v5at-c4iqpFAeNbFw-WOigPvgD-5b9fARHSosO6f1W8",
    workspaceId: "ws_01m82s2dy4ymjcqvq5f7134qye",
    completedBy: "offline",
    connectors: ["docs"],
    runs: 27,
    ends: { failed: "FAILED", cancelled: "CANCELLED", "scheduled, and cancelled": "CANCELLED" },
    maker: "user_01m82s2dxnrjx08z4e7zgn5hta",
    bound: {
      connectorId: "conn_01m82s2f8yq0htr81g4ekr4w25",
      tool: "write",
      definition: "4e3769b17f5d1dd4830ce0deb3c4899a8d2bd1f736c5667013fc6ba9f0243348"
    },
    keyed: { key: "upgrade-1", prompt: "asked for once", runId: "run_01m82s2gw8pw99cbx1vjxm34xh" }
  },
  {
    migration: "0039",
    tokens: ["bootstrap", "child", "browser session"],
    token: "agentd_lTSf8AHsHVicBzARD26gsX9Hr96du4abyMKJYIurdd8",
    workspaceId: "ws_01m836jsmjs0dp4hr4yww4k21n",
    completedBy: "offline",
    connectors: ["docs"],
    runs: 24,
    ends: { failed: "FAILED", cancelled: "CANCELLED", "scheduled, and cancelled": "CANCELLED" },
    maker: "user_01m836jsme8dg4ffy0xxvcet1h",
    bound: {
      connectorId: "conn_01m836jvdc1d7xxqsbvnnyqy1c",
      tool: "write",
      definition: "4e3769b17f5d1dd4830ce0deb3c4899a8d2bd1f736c5667013fc6ba9f0243348"
    },
    keyed: { key: "upgrade-1", prompt: "asked for once", runId: "run_01m836k06fp24rxt88j9hahba6" },
    webhookSecret: "whsec_Ph/lbc7InLRH9MOxmT0vtx1EjCVCQtmHjCbaqjbpqoE="
  },
  {
    migration: "0040",
    tokens: ["bootstrap", "child", "browser session"],
    token: "agentd_3-P7w2v0QiT1KANtu8f8isEkucjsCRIH4vmAJz75phM",
    workspaceId: "ws_01m83p1ax0ztmbzs8k1fj6wa01",
    completedBy: "offline",
    connectors: ["docs"],
    runs: 24,
    ends: { failed: "FAILED", cancelled: "CANCELLED", "scheduled, and cancelled": "CANCELLED" },
    maker: "user_01m83p1aww63p73mf06bt83811",
    bound: {
      connectorId: "conn_01m83p1b64600xstxhwn7ykmmq",
      tool: "write",
      definition: "4e3769b17f5d1dd4830ce0deb3c4899a8d2bd1f736c5667013fc6ba9f0243348"
    },
    keyed: { key: "upgrade-1", prompt: "asked for once", runId: "run_01m83p1ekfk91y2kbcxsg0zh39" },
    webhookSecret: "whsec_dgXcJqtdtLBVQDEKsGRFeQDm+TkX+NNmqzYGzUfRPcA="
  }
]

const secretKey = Buffer.alloc(32, 7).toString("base64")

const page = { type: "object", properties: { page: { type: "string" } }, required: ["page"] }
const described = [
  listedTool("write", { description: "Writes a page", inputSchema: page }),
  listedTool("read", {
    description: "Reads a page",
    inputSchema: page,
    annotations: { readOnlyHint: true }
  })
]

const urlOfDumps = "http://127.0.0.1:65001/mcp"
const receiverOfDumps = "http://127.0.0.1:65002"

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

/** The fingerprint of the call that people are asked about, as the version of the dump made it. */
const fingerprintAt = (url: string, { connectorId, definition, tool }: NonNullable<Dump["bound"]>) =>
  sha256(
    JSON.stringify([{ tool: JSON.stringify([connectorId, sha256(url), tool, definition]) }, { page: "b" }])
  )

const written = ({ migration }: Dump) =>
  readFileSync(resolve(import.meta.dirname, `../fixtures/migration-${migration}.sql`), "utf8")

/** The `webhook-id` of what is still to be told. */
const toldBy = (dump: Dump) =>
  Array.from(
    written(dump).matchAll(/^INSERT INTO public\.webhook_events VALUES \('(\w+)'/gm),
    ([, id]) => id ?? ""
  )

/** Where what the version of a dump spoke to is now. */
interface Addresses {
  readonly toolsUrl: string
  readonly receiver: string
}

/** The statements of a dump, as if the connector's server had been there, and the receiver. */
const statementsOf = (dump: Dump, { receiver, toolsUrl }: Addresses): string => {
  const { bound } = dump
  const moved = written(dump)
    .replaceAll(receiverOfDumps, receiver)
    .replaceAll(urlOfDumps, toolsUrl)
    .replaceAll(sha256(urlOfDumps), sha256(toolsUrl))
  if (bound === undefined) return moved
  const fingerprint = fingerprintAt(urlOfDumps, bound)
  assert.include(moved, fingerprint)
  return moved.replaceAll(fingerprint, fingerprintAt(toolsUrl, bound))
}

const restore = (sql: PgClient.PgClient, statements: string, { keyed }: Dump) =>
  Effect.gen(function* () {
    // A prepared statement is one statement.
    yield* sql.unsafe(`do $once$ begin execute $dump$ ${statements} $dump$; end $once$`)
    // They were asked on the day of the dump, and have a day.
    yield* sql`update approvals set expires_at = clock_timestamp() + interval '1 day'`
    if (keyed !== undefined) {
      yield* sql`update idempotency_keys set expires_at = clock_timestamp() + interval '1 day'`
    }
  })

interface Made {
  /** By which the service uses it. */
  readonly env: Readonly<Record<string, string>>
  /** Asks it without the service, which is not running. */
  readonly ask: <A>(question: (sql: PgClient.PgClient) => Effect.Effect<A, unknown>) => Promise<A>
}

/** Makes a database as the dump has it. */
interface Store {
  readonly make: (dump: Dump, at: Addresses) => Effect.Effect<Made, never, Scope.Scope>
}

const madeBy = Effect.fnUntraced(function* <E>(
  database: Layer.Layer<PgClient.PgClient, E>,
  [dump, at]: Parameters<Store["make"]>,
  env: Made["env"]
) {
  const ask: Made["ask"] = (question) =>
    Effect.runPromise(Effect.provide(Effect.flatMap(PgClient.PgClient, question), database))
  yield* Effect.promise(() => ask((sql) => restore(sql, statementsOf(dump, at), dump)))
  return { env, ask }
})

const remote: Store = {
  make: (...from) => Effect.flatMap(emptyDatabase, (url) => madeBy(client(url), from, { DATABASE_URL: url }))
}

const embedded: Store = {
  make: (...from) =>
    Effect.gen(function* () {
      const { path } = yield* Effect.acquireRelease(Effect.sync(makeDataDir), ({ remove }) =>
        Effect.sync(remove)
      )
      const limits = { startLimitMillis: 280_000, batchLimitMillis: 280_000 }
      return yield* madeBy(Embedded.layer({ dataDir: path, limits }), from, { AGENTD_DATA_DIR: path })
    })
}

/** What the secrets of a connector are, out of its row. */
const opened = (id: string, sealed: string) =>
  Effect.flatMap(SecretBox, (box) => box.open(metadataRow(id), sealed)).pipe(
    Effect.map((secret) => JSON.parse(Redacted.value(secret))),
    Effect.provide(Ring.layer({ current: secretKey, former: [] }))
  )

const upgraded = (dump: Dump, name: string, store: Store, isThere: boolean) =>
  describe.skipIf(!isThere)(isThere ? name : skipped(name), () => {
    const { connectors: names, token, workspaceId } = dump
    const scope = Scope.makeUnsafe()
    const calls: Array<string> = []
    let receiver: Awaited<ReturnType<typeof startReceiver>>
    let server: Server
    let made: Made

    beforeAll(async () => {
      const answer = ({ method, params }: Asked) => {
        if (method === "tools/call") calls.push(`${params.name} ${params.arguments.page}`)
        return undefined
      }
      const tools = await Effect.runPromise(Scope.provide(startScripted({ tools: described, answer }), scope))
      receiver = await startReceiver()
      const at = { toolsUrl: tools.url, receiver: receiver.base }
      made = await Effect.runPromise(Scope.provide(store.make(dump, at), scope))
      server = await startServer({
        ...made.env,
        AGENTD_SECRET_KEY: secretKey,
        AGENTD_ALLOW_PRIVATE_ADDRESSES: "true"
      })
    })
    afterAll(async () => {
      await server?.stop("SIGKILL")
      receiver?.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    })

    it("counts what is there against the quotas, and nothing that was deleted", async () => {
      const { json } = makeClient(server.baseUrl, token)
      const listOf = async (path: string) => (await json("GET", `${path}?workspaceId=${workspaceId}`)).data
      const memory: ReadonlyArray<{ readonly value: string }> = await listOf("/api/chat/memory")
      const { data: usage } = await json("GET", `/api/workspaces/${workspaceId}/usage`)
      const { pendingRuns: _, ...used } = Object.fromEntries(
        Object.entries<{ readonly used: number }>(usage.quotas).map(([name, quota]) => [name, quota.used])
      )
      assert.deepStrictEqual(used, {
        agents: (await listOf("/api/agents")).length,
        connectors: names.length,
        cronJobs: (await listOf("/api/cron-jobs")).length,
        memoryBytes: memory.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0),
        memoryEntries: memory.length,
        projects: (await listOf("/api/projects")).length,
        providerKeys: (await listOf("/api/provider-keys")).length,
        tokens: dump.tokens.length,
        webhooks: dump.webhookSecret === undefined ? 0 : 1,
        workspacesOwned: 1
      })
    })

    it("keeps what was stored, ends what was under way, and asks no more of what people are asked", async () => {
      const { json, request } = makeClient(server.baseUrl, token)
      const of = (path: string) => json("GET", `${path}?workspaceId=${workspaceId}`)

      const { data: agents } = await of("/api/agents")
      assert.deepInclude(agents[0], { name: "Writer", systemPrompt: "You write." })
      assert.strictEqual(agents[0].providerKey.name, "Offline")
      const { data: keys } = await of("/api/provider-keys")
      assert.sameMembers(
        keys.map((key: { readonly name: string }) => key.name),
        ["Offline", "Sealed"]
      )
      const { data: memory } = await of("/api/chat/memory")
      assert.deepInclude(memory[0], { key: "colour", value: "green", category: "taste" })
      const { data: jobs } = await of("/api/cron-jobs")
      assert.deepInclude(jobs[0], { name: "Yearly", schedule: "@yearly" })
      const { data: connectors } = await of("/api/connectors")
      assert.deepInclude(connectors[0], { type: "mcp", providerName: "docs", hasCredential: true })
      assert.deepStrictEqual(
        connectors.map(({ providerName }: { readonly providerName: string }) => providerName),
        names
      )

      const { data: approvals } = await of("/api/approvals")
      assert.sameMembers(
        approvals.map((approval: { readonly tool: string }) => approval.tool),
        ["docs__write", "remember"]
      )
      for (const { id } of approvals) {
        const decided = await request("POST", `/api/approvals/${id}`, { decision: "approve" })
        assert.strictEqual(decided.status, 200)
      }

      let runs: ReadonlyArray<Readonly<Record<"id" | "status" | "prompt" | "output", string>>> = []
      await until(async () => {
        runs = (await json("GET", `/api/runs?workspaceId=${workspaceId}&limit=100`)).data
        return (
          runs.length >= dump.runs &&
          runs.every(({ status }) => !["PENDING", "RUNNING", "WAITING_APPROVAL"].includes(status))
        )
      }, "every run is over")
      assert.lengthOf(runs, dump.runs)
      for (const { output, prompt, status } of runs) {
        const end = dump.ends?.[prompt.split("\n")[0] ?? ""] ?? "COMPLETED"
        assert.strictEqual(status, end, `${prompt}: ${output}`)
        if (end !== "COMPLETED" || prompt.startsWith("rejected")) continue
        for (const [, name] of prompt.matchAll(/^call (\w+)/gm)) assert.include(output, `${name} returned`)
      }
      const models = new Map<string, string | null>()
      for (const { id, prompt } of runs) {
        const { data } = await json("GET", `/api/runs/${id}`)
        models.set(prompt.split("\n")[0] ?? "", data.model)
      }
      assert.strictEqual(models.get("completed"), dump.completedBy)
      assert.strictEqual(models.get("waiting in the queue"), "offline")

      const { data: conversations } = await of("/api/chat/conversations")
      let last: { readonly role: string; readonly content: string } | undefined
      await until(async () => {
        const { data } = await json("GET", `/api/chat/conversations/${conversations[0].id}`)
        last = data.messages.at(-1)
        return last?.role === "ASSISTANT"
      }, "the turn is answered")
      assert.include(last?.content, "read done")

      for (const { id, providerName } of connectors) {
        const { data: health } = await json("GET", `/api/connectors/${id}/health`)
        assert.strictEqual(health.error?.code, providerName === "local" ? "misconfigured" : undefined)
        assert.strictEqual(health.serverName, providerName === "docs" ? "scripted" : null)
        assert.strictEqual(
          (await request("PATCH", `/api/connectors/${id}`, { grantedScopes: ["a"] })).status,
          200
        )
        if (id === dump.plain?.connectorId) continue
        assert.strictEqual((await request("DELETE", `/api/connectors/${id}`)).status, 200)
      }

      // What had a result is not done again, what had none is done once.
      assert.sameMembers(calls, [
        "write b",
        "read slow turn",
        "read slow 1",
        "read slow 2",
        "read slow 3",
        "read c"
      ])
      const { data: usage } = await json("GET", `/api/workspaces/${workspaceId}/usage`)
      assert.strictEqual(usage.quotas.pendingRuns.used, 0)
      assert.strictEqual(usage.quotas.connectors.used, dump.plain === undefined ? 0 : 1)
    })

    it("goes on with cron jobs, whose makers nobody knows where they were not kept", async () => {
      const { json, request } = makeClient(server.baseUrl, token)
      const { data: jobs } = await json("GET", `/api/cron-jobs?workspaceId=${workspaceId}`)
      for (const { id } of jobs) {
        const path = `/api/cron-jobs/${id}`
        const countFired = async () => {
          const { data: fires } = await json("GET", `${path}/fires`)
          return fires.filter(({ outcome }: { readonly outcome: string }) => outcome === "fired").length
        }
        const before = await countFired()
        const often = { schedule: "* * * * * *", isActive: true }
        assert.strictEqual((await request("PATCH", path, often)).status, 200)
        await until(async () => (await countFired()) > before, "it is fired")
        const { data: maker } = await json("GET", `${path}/maker`)
        const createdBy = dump.maker === undefined ? null : { userId: dump.maker, email: "owner@localhost" }
        assert.deepStrictEqual(maker, {
          createdBy,
          isMember: createdBy !== null,
          stoppedAt: null,
          stopReason: null
        })
        assert.strictEqual((await request("PATCH", path, { isActive: false })).status, 200)
      }
    })

    it.runIf(dump.keyed)("keeps budgets, policies and what was used", async () => {
      const { json } = makeClient(server.baseUrl, token)
      const { data: usage } = await json(
        "GET",
        `/api/usage?workspaceId=${workspaceId}&from=2026-11-01&to=2026-12-01&groupBy=model`
      )
      assert.isAbove(usage[0].modelCalls, 20)
      const { data: budget } = await json("GET", `/api/workspaces/${workspaceId}/budget`)
      assert.deepStrictEqual(budget, {
        monthlyUsd: 100,
        monthlyTokens: 1_000_000,
        runUsd: null,
        runTokens: 100_000
      })
      const { data: agents } = await json("GET", `/api/agents?workspaceId=${workspaceId}`)
      const { data: policy } = await json("GET", `/api/agents/${agents[0].id}/policy`)
      assert.deepInclude(policy, { tools: [{ match: "docs__erase", rule: "deny" }], maxSteps: 20 })
      const { data: jobs } = await json("GET", `/api/cron-jobs?workspaceId=${workspaceId}`)
      const { data: ofJob } = await json("GET", `/api/cron-jobs/${jobs[0].id}/policy`)
      assert.deepInclude(ofJob, { autonomyLevel: "semi-autonomous", maxSeconds: 600 })
    })

    it.runIf(dump.keyed)("answers what was asked for with a key as before", async () => {
      const { key, prompt, runId } = dump.keyed ?? { key: "", prompt: "", runId: "" }
      const answer = await fetch(`${server.baseUrl}/api/tasks`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "idempotency-key": key
        },
        body: JSON.stringify({ workspaceId, prompt })
      })
      const { data } = (await answer.json()) as { readonly data: { readonly id: string } }
      assert.deepStrictEqual([answer.status, data.id], [201, runId])
    })

    it.runIf(dump.webhookSecret)("tells a webhook of what it was to be told of, once", async () => {
      const ids = toldBy(dump)
      assert.isNotEmpty(ids)
      const told = () => receiver.received.filter(({ id }) => ids.includes(id))
      await until(() => told().length >= ids.length, "all is told")
      assert.sameMembers(
        told().map(({ id }) => id),
        ids
      )
      for (const message of receiver.received) verified(dump.webhookSecret ?? "", message)
    })

    it("tells a webhook that is made now of a run that ends, and of none that had ended", async () => {
      const other = await startReceiver()
      try {
        const { json, request } = makeClient(server.baseUrl, token)
        const { data: runs } = await json("GET", `/api/runs?workspaceId=${workspaceId}&limit=100`)
        const over = new Set<string>()
        for (const { id, status } of runs) {
          if (["COMPLETED", "FAILED", "CANCELLED"].includes(status)) over.add(id)
        }
        const { data: webhook } = await json("POST", "/api/webhooks", {
          workspaceId,
          url: `${other.base}/told`,
          events: ["*"]
        })
        const { data: task } = await json("POST", "/api/tasks", { workspaceId, prompt: "told" })
        const ofTask = () => other.received.filter(({ data }) => data.id === task.id)
        await until(() => ofTask().length > 0, "it is told")
        assert.deepStrictEqual(
          ofTask().map(({ type }) => type),
          ["run.completed"]
        )
        assert.isEmpty(other.received.filter(({ data }) => over.has(data.id)))
        for (const message of other.received) verified(webhook.secret, message)
        assert.strictEqual((await request("DELETE", `/api/webhooks/${webhook.id}`)).status, 200)
      } finally {
        other.close()
      }
    })

    it.runIf(dump.plain)("seals what was stored in plain, by itself", async () => {
      const { json } = makeClient(server.baseUrl, token)
      await until(async () => {
        const { data } = await json("GET", `/api/connectors/${dump.plain?.connectorId}`)
        return data.hasCredential
      }, "it is sealed")
    })

    it("takes tokens, and with them what they make from now on", async () => {
      const old = makeClient(server.baseUrl, token)
      const { data: one } = await old.json("POST", "/api/tokens", { name: "made" })
      const next = makeClient(server.baseUrl, one.token)
      const { data: two } = await next.json("POST", "/api/tokens", { name: "made by that" })
      const { data: tokens } = await old.json("GET", "/api/tokens")
      assert.deepStrictEqual(
        tokens.map(({ name }: { readonly name: string }) => name),
        [...dump.tokens, "made", "made by that"]
      )
      const clients = [old, next, makeClient(server.baseUrl, two.token)]
      const statuses = () =>
        Promise.all(clients.map(async ({ request }) => (await request("GET", "/api/tokens")).status))
      assert.deepStrictEqual(await statuses(), [200, 200, 200])
      assert.strictEqual((await old.request("DELETE", `/api/tokens/${tokens[0].id}`)).status, 200)
      assert.deepStrictEqual(await statuses(), [401, 401, 401])
    })

    it("leaves no secret in plain behind, and tokens of before with the parents that they had", async () => {
      await server.stop("SIGTERM")
      const kept = await made.ask(
        (sql) => sql<{ name: string; isRevoked: boolean; hasParent: boolean }>`
          select t.name, t.revoked_at is not null as "isRevoked", t.parent_id is not null as "hasParent"
          from tokens t join workspaces w on w.created_by = t.user_id where w.id = ${workspaceId}
          order by t.created_at, t.id`
      )
      const hadParents = dump.maker !== undefined
      assert.deepStrictEqual(kept, [
        ...dump.tokens.map((name, index) => ({
          name,
          isRevoked: index === 0 || hadParents,
          hasParent: index > 0 && hadParents
        })),
        { name: "made", isRevoked: true, hasParent: true },
        { name: "made by that", isRevoked: true, hasParent: true }
      ])
      const { plain } = dump
      if (plain === undefined) return
      const rows = await made.ask(
        (sql) => sql<{ metadata: Readonly<Record<string, string>> }>`
          select metadata from connectors where id = ${plain.connectorId}`
      )
      const { [sealedField]: sealed = "", ...open } = rows[0]?.metadata ?? {}
      assert.deepStrictEqual(open, plain.open)
      assert.deepStrictEqual(await Effect.runPromise(opened(plain.connectorId, sealed)), plain.secrets)
    })
  })

for (const dump of dumps) {
  describe(`a database of migration ${dump.migration}`, () => {
    upgraded(dump, "PostgreSQL", remote, hasPostgres)
    upgraded(dump, "the embedded database", embedded, true)
  })
}
