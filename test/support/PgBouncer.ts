import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Path from "node:path"
import { freePort, isRoot, removedAtTheEnd, temporaryFolder } from "./PostgresServer.ts"
import { until } from "./Until.ts"

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = Net.connect(port, "127.0.0.1")
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
    socket.once("close", () => socket.destroy())
  })

/** PgBouncer in transaction mode before the server of `url`, with so many sessions there for all of its clients. */
export const startPgBouncer = async (url: string, options: { connectQuery: string; sessions: number }) => {
  const folder = temporaryFolder("agentd-test-pgbouncer-")
  const { hostname, port: serverPort } = new URL(url)
  const port = await freePort()
  const settings = Path.join(folder, "pgbouncer.ini")
  Fs.writeFileSync(Path.join(folder, "users.txt"), '"postgres" ""\n')
  Fs.writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort} connect_query='${options.connectQuery}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users.txt
pool_mode = transaction
max_client_conn = 1000
default_pool_size = ${options.sessions}
`
  )
  Fs.chmodSync(folder, 0o755)
  const child = spawn("pgbouncer", [...(isRoot ? ["-u", "postgres"] : []), settings], { stdio: "ignore" })
  const close = removedAtTheEnd(() => {
    child.kill("SIGKILL")
    Fs.rmSync(folder, { recursive: true, force: true })
  })
  await until(() => accepts(port), "PgBouncer listens")
  const pooled = new URL(url)
  pooled.port = String(port)
  return { url: pooled.href, close }
}
