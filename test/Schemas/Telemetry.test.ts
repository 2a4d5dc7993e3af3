import { assert, describe, it } from "@effect/vitest"
import { problemOf, type Setting } from "../../src/Schemas/Setting.ts"
import { settings } from "../../src/Schemas/SettingsTable.ts"
import { endpointOf, isSampled, pairsOf, ratioOf, samplers } from "../../src/Schemas/Telemetry.ts"

const problem = (name: keyof typeof settings, value: string): string | undefined =>
  problemOf(settings[name] as Setting, value)

describe("the variables of OpenTelemetry", () => {
  it("have pairs, with values in percent-encoding", () => {
    assert.deepStrictEqual(pairsOf("a=1, b = x%20y ,,c=d=e,f="), [
      ["a", "1"],
      ["b", "x y"],
      ["c", "d=e"],
      ["f", ""]
    ])
    for (const wrong of ["a", "=b", "a=%zz", "%E0=1"]) assert.isUndefined(pairsOf(wrong), wrong)
  })

  it("say what is wrong with headers, and never repeat them", () => {
    for (const wrong of ["authorization", "a b=c", "a=%0d%0aevil", "a=%F0%9F%8E%88"]) {
      const said = problem("OTEL_EXPORTER_OTLP_HEADERS", wrong)
      assert.match(said ?? "", /^must be name=value pairs of HTTP headers/u, wrong)
    }
    assert.isUndefined(problem("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20abc%3D"))
  })

  it("refuse what is not spoken", () => {
    assert.match(problem("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc") ?? "", /gRPC is not spoken/u)
    assert.isDefined(problem("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"))
    assert.isDefined(problem("OTEL_TRACES_EXPORTER", "zipkin"))
    assert.isDefined(problem("OTEL_PROPAGATORS", "b3"))
    assert.isUndefined(problem("OTEL_PROPAGATORS", "tracecontext, baggage"))
    assert.isDefined(problem("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317"))
    assert.isDefined(problem("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:password@localhost"))
    assert.isUndefined(problem("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318/"))
  })

  it("have an address for each signal below the shared one", () => {
    assert.strictEqual(endpointOf("http://a:4318", "traces"), "http://a:4318/v1/traces")
    assert.strictEqual(endpointOf("https://a/otlp/", "logs"), "https://a/otlp/v1/logs")
    assert.strictEqual(endpointOf("https://a/x?k=v", "metrics"), "https://a/x/v1/metrics?k=v")
  })

  it("have a share from 0 to 1", () => {
    for (const [text, value] of [
      ["0", 0],
      ["1", 1],
      ["0.25", 0.25],
      [".5", 0.5],
      ["1.0", 1]
    ] as const) {
      assert.strictEqual(ratioOf(text), value)
    }
    for (const wrong of ["", "1.5", "-1", "1e-3", "a", "2", "."]) assert.isUndefined(ratioOf(wrong), wrong)
  })
})

describe("the sampling of traces", () => {
  const early = `${"0".repeat(19)}${"0".repeat(13)}`
  const late = `${"0".repeat(19)}${"f".repeat(13)}`

  it("follows the caller where it is to", () => {
    for (const sampler of samplers) {
      const follows = sampler.startsWith("parentbased_")
      assert.strictEqual(isSampled({ sampler, ratio: 0.5 }, late, true), follows || sampler === "always_on")
      assert.strictEqual(
        isSampled({ sampler, ratio: 0.5 }, early, false),
        !follows && sampler !== "always_off"
      )
    }
  })

  it("decides by the id where nobody has", () => {
    for (const sampler of samplers) {
      const expected = sampler.endsWith("always_on") || sampler.endsWith("traceidratio")
      assert.strictEqual(isSampled({ sampler, ratio: 0.5 }, early, undefined), expected, sampler)
      assert.strictEqual(
        isSampled({ sampler, ratio: 0.5 }, late, undefined),
        sampler.endsWith("always_on"),
        sampler
      )
    }
  })

  it("keeps all with 1 and none with 0", () => {
    assert.isTrue(isSampled({ sampler: "traceidratio", ratio: 1 }, late, undefined))
    assert.isFalse(isSampled({ sampler: "traceidratio", ratio: 0 }, early, undefined))
  })
})
