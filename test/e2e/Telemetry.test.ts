import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Collector, isInstalled, type Mood, needed, startCollector } from "../support/Collector.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const parentId = "b7ad6b7169203331"
const key = "a-key-of-the-collector"

const serve = (env: (collector: Collector) => Readonly<Record<string, string>>) => {
  const dataDir = makeDataDir()
  let collector: Collector
  let server: Server
  beforeAll(async () => {
    collector = await startCollector()
    server = await startServer({
      AGENTD_DATA_DIR: dataDir.path,
      AGENTD_DRAIN_SECONDS: "2",
      ...env(collector)
    })
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    collector.stop()
    dataDir.remove()
  })
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const { token } = readCredentials(dataDir.path)
    const asked = fetch(`${server.baseUrl}${path}`, {
      headers: { authorization: `Bearer ${token}`, ...headers }
    })
    return asked.catch((error) => {
      throw new Error(`${error}, and the service has said: ${server.stderr().slice(-2000)}`)
    })
  }
  return {
    collector: () => collector,
    server: () => server,
    token: () => readCredentials(dataDir.path).token,
    workspaceId: () => readCredentials(dataDir.path).workspaceId,
    ask,
    agents: () => `/api/agents?workspaceId=${readCredentials(dataDir.path).workspaceId}`,
    page: async () => (await ask("/metrics")).text()
  }
}

const quick = {
  OTEL_BSP_SCHEDULE_DELAY: "100",
  OTEL_BLRP_SCHEDULE_DELAY: "100",
  OTEL_METRIC_EXPORT_INTERVAL: "1000"
}

const protocols = ["http/protobuf", "http/json"] as const

for (const protocol of protocols) {
  describe.skipIf(!isInstalled)(`what is told by ${protocol} (${needed})`, () => {
    const service = serve(({ url }) => ({
      ...quick,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_HEADERS: `x-key=${key},x-other=a%20b`,
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      AGENTD_LOG_LEVEL: "debug",
      ...(protocol === "http/protobuf"
        ? { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" }
        : { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_SERVICE_NAME: "agents" })
    }))
    const spanOf = (id: string) =>
      service
        .collector()
        .spans()
        .find((span) => span.fields["agentd.request.id"] === id)

    it("is the span of a request, below that of who has asked", async () => {
      const answer = await service.ask(service.agents(), {
        traceparent: `00-${traceId}-${parentId}-01`,
        "x-request-id": "traced"
      })
      assert.strictEqual(answer.status, 200)
      await until(() => spanOf("traced") !== undefined, "the span is there")
      const span = spanOf("traced")
      assert.strictEqual(span.name, "GET /api/agents")
      assert.strictEqual(span.kind, 2)
      assert.strictEqual(span.traceId, traceId)
      assert.strictEqual(span.parentSpanId, parentId)
      assert.isTrue(BigInt(span.endTimeUnixNano) > BigInt(span.startTimeUnixNano))
      assert.include(span.fields, {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "http.route": "/api/agents",
        "url.path": "/api/agents",
        "url.scheme": "http",
        "client.address": "127.0.0.1",
        "agentd.workspace.id": service.workspaceId()
      })
      assert.include(span.resource, {
        "service.name": protocol === "http/json" ? "agents" : "agentd",
        "service.version": "0.1.0",
        "deployment.environment.name": "test"
      })
      assert.isString(span.resource["service.instance.id"])
    })

    it("has the route and not the id in its name, and no secret", async () => {
      await service.ask(`/api/agents/agt_nobody?token=${service.token()}`, { "x-request-id": "named" })
      await service.ask(`/api/${service.token()}`, { "x-request-id": "lost" })
      await until(() => spanOf("named") !== undefined && spanOf("lost") !== undefined, "the spans are there")
      assert.strictEqual(spanOf("named").name, "GET /api/agents/{id}")
      assert.strictEqual(spanOf("named").status?.code ?? 0, 0, "a refusal is no error of the service")
      assert.strictEqual(spanOf("lost").name, "GET")
      const all = JSON.stringify(service.collector().got.map(({ body }) => body))
      assert.notInclude(all, service.token())
      assert.notInclude(all, key)
      assert.notInclude(service.server().stderr(), key)
    })

    it("is neither a statement of the database nor a look at the health of the service", async () => {
      await service.ask("/health/ready")
      await service.page()
      await service.ask(service.agents(), { "x-request-id": "after" })
      await until(() => spanOf("after") !== undefined, "the span is there")
      const names = new Set(
        service
          .collector()
          .spans()
          .map(({ name }) => name)
      )
      for (const name of names) assert.match(name, /^(GET|POST)( \/api\/\S+)?$/u)
    })

    it("is not what the caller has not sampled", async () => {
      await service.ask(service.agents(), {
        traceparent: `00-${traceId.replace("0a", "0b")}-${parentId}-00`,
        "x-request-id": "unsampled"
      })
      await service.ask(service.agents(), { "x-request-id": "sampled" })
      await until(() => spanOf("sampled") !== undefined, "the span is there")
      assert.isUndefined(spanOf("unsampled"))
    })

    it("are the lines of the log, with the span in which they were written", async () => {
      const lineOf = () =>
        service
          .collector()
          .lines()
          .find(
            (line) => line.fields.requestId === "traced" && line.body.stringValue === "a request was answered"
          )
      await until(() => lineOf() !== undefined, "the line is there")
      const line = lineOf()
      assert.strictEqual(line.traceId, traceId)
      assert.strictEqual(line.spanId, spanOf("traced").spanId)
      assert.strictEqual(line.severityNumber, 5)
      assert.strictEqual(line.severityText, "DEBUG")
      assert.include(line.fields, { method: "GET", path: "/api/agents", status: 200 })
      assert.include(service.server().stderr(), '"requestId":"traced"')
    })

    it("are the metrics of the page, under their names, and what is only looked up when it is asked for", async () => {
      await until(() => service.collector().metrics().has("agentd_http_requests_total"), "metrics are there")
      const metrics = service.collector().metrics()
      const known = (await service.page()).match(/^# TYPE \S+/gmu)?.map((line) => line.slice(7)) ?? []
      for (const name of known) assert.isTrue(metrics.has(name), name)
      const requests = metrics.get("agentd_http_requests_total")
      assert.strictEqual(requests.sum.aggregationTemporality, 2)
      assert.isTrue(requests.sum.isMonotonic)
      assert.strictEqual(metrics.get("agentd_http_request_seconds").unit, "s")
      assert.strictEqual(metrics.get("process_resident_memory_bytes").unit, "By")
      assert.strictEqual(metrics.get("agentd_database_up").gauge.dataPoints[0].asDouble, 1)
    })

    it("comes with the headers of the operator, and no traceparent", () => {
      const { got, problems } = service.collector()
      assert.deepStrictEqual(problems, [])
      assert.isAbove(got.length, 3)
      for (const { headers } of got) {
        assert.strictEqual(headers["x-key"], key)
        assert.strictEqual(headers["x-other"], "a b")
        assert.isUndefined(headers.traceparent)
        assert.strictEqual(headers["content-encoding"], protocol === "http/protobuf" ? "gzip" : undefined)
      }
    })

    it("is all there when the service has stopped", async () => {
      assert.strictEqual(await service.server().stop("SIGTERM"), 0)
      const said = service
        .collector()
        .lines()
        .map(({ body }) => body.stringValue)
      assert.include(said, "stopping")
    })
  })
}

describe.skipIf(!isInstalled)(`a collector that does not take what it is sent (${needed})`, () => {
  const service = serve(({ url }) => ({
    ...quick,
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
    OTEL_BSP_MAX_QUEUE_SIZE: "2",
    OTEL_BLRP_MAX_QUEUE_SIZE: "2",
    AGENTD_LOG_LEVEL: "debug"
  }))
  const dropped = async (signal: string): Promise<number> => {
    const pattern = new RegExp(`^agentd_telemetry_dropped_total\\{signal="${signal}"\\} (\\d+)$`, "mu")
    return Number(pattern.exec(await service.page())?.[1])
  }
  const moods: ReadonlyArray<Mood> = ["away", "silent", "endless", "refuses"]

  for (const mood of moods) {
    it(`and is ${mood} is waited for by nobody, and what it misses is counted`, async () => {
      const before = {
        traces: await dropped("traces"),
        logs: await dropped("logs"),
        metrics: await dropped("metrics")
      }
      service.collector().set(mood)
      await until(async () => {
        const answers = await Promise.all(Array.from({ length: 10 }, () => service.ask(service.agents())))
        for (const { status } of answers) assert.strictEqual(status, 200)
        return (
          (await dropped("traces")) > before.traces &&
          (await dropped("logs")) > before.logs &&
          (await dropped("metrics")) > before.metrics
        )
      }, "all three are counted")
    })
  }

  it("is told in the log, for each signal once a minute at most", () => {
    const told =
      service
        .server()
        .stderr()
        .match(/"telemetry was dropped".*"signal":"traces"/gu) ?? []
    assert.strictEqual(told.length, 1)
  })

  it("gets what follows as soon as it takes it", async () => {
    service.collector().set("takes")
    await until(async () => {
      await service.ask(service.agents(), { "x-request-id": "again" })
      return service
        .collector()
        .spans()
        .some((span) => span.fields["agentd.request.id"] === "again")
    }, "a span is there")
  })

  it("does not hold up the end of the service", async () => {
    service.collector().set("silent")
    await service.ask(service.agents())
    assert.strictEqual(await service.server().stop("SIGTERM"), 0)
  })
})

describe("a service that is to tell nothing", () => {
  const service = serve(({ url }) => ({
    ...quick,
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_SDK_DISABLED: "true"
  }))

  it("sends nothing, also at its end", async () => {
    assert.strictEqual((await service.ask(service.agents())).status, 200)
    assert.notInclude(await service.page(), "telemetry_dropped")
    assert.strictEqual(await service.server().stop("SIGTERM"), 0)
    assert.deepStrictEqual(service.collector().got, [])
  })
})
