import type { IncomingHttpHeaders } from "node:http"
import type { Protocol } from "./Models.ts"

/** What a request says to the provider, read from its own format. */
// biome-ignore lint/suspicious/noExplicitAny: four wire formats, none of them typed here
type Body = any
interface Wire {
  readonly system: (body: Body) => string
  readonly schemas: (body: Body) => ReadonlyArray<unknown>
  readonly calls: (body: Body) => ReadonlyArray<readonly [id: string, name: string, arguments_: unknown]>
  readonly results: (body: Body) => ReadonlyArray<readonly [id: string, result: string]>
  readonly key: (headers: IncomingHttpHeaders) => unknown
}

const partsOf = (list: Body, field: string, has: (part: Body) => boolean): ReadonlyArray<Body> =>
  list.flatMap((entry: Body) => (Array.isArray(entry[field]) ? entry[field] : []).filter(has))

const openAiWire: Wire = {
  system: ({ messages }) => messages[0].content,
  schemas: ({ tools }) => tools.map((tool: Body) => tool.function.parameters),
  calls: ({ messages }) =>
    partsOf(messages, "tool_calls", () => true).map(({ function: called, id }) => [
      id,
      called.name,
      JSON.parse(called.arguments)
    ]),
  results: ({ messages }) =>
    messages
      .filter(({ role }: Body) => role === "tool")
      .map(({ content, tool_call_id }: Body) => [tool_call_id, content]),
  key: ({ authorization }) => authorization?.replace(/^Bearer ?/, "")
}

export const wire: Readonly<Record<Protocol, Wire>> = {
  openai: openAiWire,
  "openai-compatible": openAiWire,
  anthropic: {
    system: ({ system }) => system[0].text,
    schemas: ({ tools }) => tools.map((tool: Body) => tool.input_schema),
    calls: ({ messages }) =>
      partsOf(messages, "content", ({ type }) => type === "tool_use").map(({ id, input, name }) => [
        id,
        name,
        input
      ]),
    results: ({ messages }) =>
      partsOf(messages, "content", ({ type }) => type === "tool_result").map(({ content, tool_use_id }) => [
        tool_use_id,
        content
      ]),
    key: (headers) => headers["x-api-key"]
  },
  google: {
    system: ({ systemInstruction }) => systemInstruction.parts[0].text,
    schemas: ({ tools }) => tools[0].functionDeclarations.map((tool: Body) => tool.parametersJsonSchema),
    calls: ({ contents }) =>
      partsOf(contents, "parts", ({ functionCall }) => functionCall !== undefined).map(
        ({ functionCall: { args, id, name } }) => [id, name, args]
      ),
    results: ({ contents }) =>
      partsOf(contents, "parts", ({ functionResponse }) => functionResponse !== undefined).map(
        ({ functionResponse: { id, response } }) => [id, JSON.stringify(response)]
      ),
    key: (headers) => headers["x-goog-api-key"]
  }
}
