import { EventSourceParserStream } from "eventsource-parser/stream"

/** Events by their frames; comment lines are not among them. What they are is known from where they come. */
export async function* frames<Event>(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Event> {
  const parsed = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  for await (const { data, event, id } of parsed) {
    yield { id: Number(id), event, data: JSON.parse(data) } as Event
  }
}
