import {
  exitOnSignals,
  type PostgresServer,
  removedAtTheEnd,
  removeServer,
  startServer,
  temporaryFolder
} from "../../test/support/PostgresServer.ts"

/**
 * The PostgreSQL server of a bench: that of DATABASE_URL (without the name of a database), or one of its own with
 * fsync on and with these settings (`-c name=value …`), which goes with the process.
 */
export const openServer = async (
  settings = ""
): Promise<{
  readonly url: string
  /** To stop and start it; only if it is our own. */
  readonly postgres: PostgresServer | undefined
}> => {
  exitOnSignals()
  process.once("SIGINT", () => process.exit(130))
  const { DATABASE_URL: given } = process.env
  if (given !== undefined && given !== "") return { url: given, postgres: undefined }
  const folder = temporaryFolder("agentd-bench-")
  removedAtTheEnd(() => removeServer(folder))
  // Else each recovery takes seconds, for a file system with little else to do: a restart is to be a short one.
  const postgres = await startServer(folder, `-c recovery_init_sync_method=syncfs ${settings}`)
  return { url: postgres.url, postgres }
}
