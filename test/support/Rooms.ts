/** A room and whom it may know. Its files are that of its name and those in the folder of its name. */
export interface Room {
  readonly name: string
  readonly packages: (path: string) => boolean
  /** Beside the files of its own. */
  readonly knows: (target: string, isPort: boolean) => boolean
  /** May give layers of one family to those of another. */
  readonly assembles?: true
}

/** Modules of Effect that need nothing of the world: no SQL, HTTP, files, processes or command line. */
const isPure = (path: string): boolean =>
  /^effect\/([A-Z]\w*|(crypto|encoding)\/\w+)$/.test(path) &&
  !/^effect\/(FileSystem|Path|Stdio|Terminal)$/.test(path)

const any = () => true

const none = () => false

const files =
  (...paths: ReadonlyArray<string>) =>
  (target: string): boolean =>
    paths.includes(target)

/** An assembly file and the folder beside it. */
export const within =
  (...rooms: ReadonlyArray<string>) =>
  (target: string): boolean =>
    rooms.some((room) => target === `${room}.ts` || target.startsWith(`${room}/`))

/** What stands in a folder of Services is the inside of a use case. */
export const isInside = (file: string): boolean => /^Services\/.*\//.test(file)

/** An adapter family knows ports, and the few files that it is named with here. */
const adapter = (family: string, ...more: ReadonlyArray<string>): Room => ({
  name: `Layers/${family}`,
  packages: any,
  knows: (target, isPort) => isPort || within("Schemas")(target) || files(...more)(target)
})

const adapters: ReadonlyArray<Room> = [
  adapter("Auth", "Api/Authorization.ts"),
  adapter("Inference", "Services/Silence.ts"),
  adapter("Outbound"),
  adapter("Repo"),
  adapter("Scheduler"),
  // Where the key is kept follows from where the database is.
  adapter("SecretBox", "Layers/Settings.ts"),
  adapter("Tools")
]

/** Who may know whom: ARCHITECTURE.md section 2, and the files that put the service together. */
const rooms: ReadonlyArray<Room> = [
  {
    name: "Schemas",
    // croner is pure computation: what is valid, what a preview shows and what fires must be one function.
    packages: (path) => isPure(path) || path === "croner",
    knows: none
  },
  {
    name: "Api",
    packages: (path) => isPure(path) || path.startsWith("effect/http-api/"),
    knows: within("Schemas")
  },
  { name: "Services", packages: isPure, knows: within("Schemas") },
  {
    name: "Layers/Http",
    packages: (path) =>
      isPure(path) || /^effect\/(ai|http|http-api|observability)\//.test(path) || path === "node:buffer",
    knows: within("Schemas", "Api", "Services")
  },
  ...adapters,
  {
    name: "Layers/Application",
    packages: isPure,
    knows: (target) => within("Services")(target) || adapters.some(({ name }) => target === `${name}.ts`),
    assembles: true
  },
  {
    name: "Layers/Database",
    packages: isPure,
    knows: (target) =>
      within("Layers/Repo/Postgres")(target) || files("Layers/Output.ts", "Layers/Settings.ts")(target),
    assembles: true
  },
  {
    name: "Layers/Server",
    packages: any,
    knows: (target) =>
      within("Schemas", "Services")(target) ||
      files(
        "Layers/Auth/Authorization.ts",
        "Layers/Http.ts",
        "Layers/Operator/Socket.ts",
        "Layers/Output.ts",
        "Layers/Settings.ts"
      )(target),
    assembles: true
  },
  {
    name: "Layers/Operator",
    packages: any,
    knows: (target) =>
      within("Schemas", "Services")(target) ||
      files("Api/Operator.ts", "Layers/Output.ts", "Layers/Settings.ts")(target)
  },
  {
    name: "Layers/Console",
    packages: any,
    knows: files("Services/ConsoleFiles.ts")
  },
  {
    // A client like any other: what it knows of the service is its contract.
    name: "Layers/Client",
    packages: any,
    knows: (target) => within("Schemas", "Api")(target) || files("Layers/Output.ts")(target)
  },
  {
    name: "Layers/Settings",
    packages: any,
    knows: files(
      "Schemas/Cors.ts",
      "Schemas/Networks.ts",
      "Schemas/QuotaSetting.ts",
      "Schemas/Setting.ts",
      "Schemas/SettingsTable.ts",
      "Schemas/Telemetry.ts",
      "Services/Settings.ts"
    )
  },
  {
    name: "Layers/Runtime",
    packages: any,
    knows: files("Schemas/Reason.ts", "Schemas/Text.ts", "Layers/Output.ts", "Layers/Settings.ts")
  },
  {
    name: "Layers/Environment",
    packages: any,
    knows: files("Schemas/SettingsCheck.ts", "Layers/SecretFiles.ts")
  },
  {
    name: "Layers/ProcessMetrics",
    packages: any,
    knows: files("Schemas/Version.ts", "Services/CurrentTime.ts", "Services/Metrics.ts")
  },
  {
    name: "Layers/Telemetry",
    packages: any,
    knows: (target) =>
      within("Schemas")(target) ||
      files(
        "Layers/Settings/Telemetry.ts",
        "Services/CurrentTime.ts",
        "Services/DatabaseGauges.ts",
        "Services/Metrics.ts",
        "Services/Settings.ts",
        "Services/Telemetry.ts"
      )(target)
  },
  { name: "Layers/SecretFiles", packages: any, knows: files("Schemas/SettingsTable.ts") },
  { name: "Layers/Output", packages: any, knows: none },
  { name: "main", packages: any, knows: any, assembles: true },
  { name: "cli", packages: any, knows: any, assembles: true }
]

export const roomOf = (file: string): Room | undefined => rooms.find(({ name }) => within(name)(file))

/** `main.ts` and `cli.ts`, where programs are put together. */
export const isRoot = files("main.ts", "cli.ts")
