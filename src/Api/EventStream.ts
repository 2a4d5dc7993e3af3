import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Schema from "effect/Schema"
import { ChatEvent } from "../Schemas/ChatEvent.ts"
import { RunEvent } from "../Schemas/RunEvent.ts"

export const eventStreamType = "text/event-stream"

/** Server-Sent Events as CONTRACT.md section 7 frames them: with ids and comment lines. */
export const EventStream = HttpApiSchema.WithHeaders(
  HttpApiSchema.StreamUint8Array({ contentType: eventStreamType }),
  {
    "cache-control": Schema.Literal("no-cache"),
    "x-accel-buffering": Schema.Literal("no")
  }
)

type Event = Schema.Struct<{
  readonly event: Schema.Literal<string>
  readonly data: Schema.Top
}>

/** What the document says of a stream: its events as they are framed, and what their data holds. */
const described = (name: string, members: ReadonlyArray<Event>) => ({
  name,
  frame: Schema.Union(members.map(({ fields }) => Schema.Struct({ id: Schema.Int, ...fields }))).annotate({
    identifier: name,
    description: "An event as it is framed; `data` is one line of JSON, shown parsed."
  }),
  data: Schema.Union(members.map(({ fields }) => fields.data)).annotate({
    identifier: `${name}Data`,
    description: `What the \`data\` of a ${name} holds, by the name of the event.`
  })
})

export const chatStream = described("ChatEvent", ChatEvent.members)
export const runStream = described("RunEvent", RunEvent.members)

/** The events of both streams as components of the document. */
export const eventComponents = [chatStream, runStream].flatMap(({ data, frame }) => [frame, data])

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content: object }>>
}

/**
 * Names the events in the OpenAPI document: `schema` is what a generated client yields of each event, its data, and
 * `x-oai-itemSchema` (the `itemSchema` of OpenAPI 3.2 in a document of 3.1) the event as it is framed.
 */
export const tells =
  ({ name }: ReturnType<typeof described>) =>
  (operation: Record<string, unknown>) => {
    const { responses } = operation as unknown as Operation
    const content = {
      [eventStreamType]: {
        schema: { $ref: `#/components/schemas/${name}Data` },
        "x-oai-itemSchema": { $ref: `#/components/schemas/${name}` }
      }
    }
    return { ...operation, responses: { ...responses, 200: { ...responses["200"], content } } }
  }
