import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** A file of the web console as it is sent. */
export interface ConsoleFile {
  readonly contentType: string
  /** Of its content, quoted as the header has it. */
  readonly etag: string
  readonly body: Uint8Array
  /** The same, made smaller beforehand; what does not get smaller is not there. */
  readonly encoded: Partial<Record<"br" | "gzip", Uint8Array>>
}

/** The files of the web console by their names, `index.html` among them. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

/** The web console that was built with this very program: read once, when it is first asked for. Undefined: none was built. */
export class BuiltConsole extends Context.Reference<Effect.Effect<ConsoleFiles | undefined>>(
  "agentd/Services/ConsoleFiles",
  { defaultValue: () => Effect.undefined }
) {}
