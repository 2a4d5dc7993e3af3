/** How the server of an address is reached, as libpq's `sslmode` says it (docs/deploy.md). */
export type Tls =
  /** In the clear: this machine, or the operator says so. */
  | { readonly mode: "disable" }
  /** Encrypted, whoever answers. */
  | { readonly mode: "require" }
  /** Encrypted, with a certificate of `rootCert` (null: of an authority that the system trusts). */
  | { readonly mode: "verify-ca" | "verify-full"; readonly rootCert: string | null }

const tlsNames = ["sslmode", "sslrootcert"]
const modes = ["disable", "require", "verify-ca", "verify-full"] as const
const form = "must look like postgres://user:password@host:5432/database"
const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/u.test(text) && Number(text) <= 65_535

/** The last one of a name counts, as for the driver. */
const parameter = (url: URL, name: string): string | null => url.searchParams.getAll(name).at(-1) ?? null

const isDecodable = (text: string): boolean => {
  try {
    // Used, or a bundler takes it out: it knows of no error that this could be for.
    return typeof decodeURIComponent(text) === "string"
  } catch {
    return false
  }
}

/** Where the server is: a name, an address, or the folder of a socket. */
export const hostOf = (address: string): string => {
  const url = new URL(address)
  const named = parameter(url, "host") ?? decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/u, "$1")
  return named === "" ? "localhost" : named
}

/**
 * What is wrong with an address of PostgreSQL, as a predicate (`must …`) that never repeats it; what the driver would
 * find out later, or in silence read otherwise, is found here.
 */
export const problemOf = (address: string): string | undefined => {
  const url = /^postgres(ql)?:\/\//u.test(address) ? URL.parse(address) : null
  if (url === null) return form
  const { hostname, password, pathname, port, username } = url
  // What is left of a template that nothing was filled into.
  if (hostname === "" && pathname.length <= 1 && url.search === "") return form
  if (![hostname, username, password, pathname].every(isDecodable)) {
    return "must write a percent sign as %25, and other special characters likewise"
  }
  if (hostOf(address).includes(",")) return "must name one host"
  const ports = [port, parameter(url, "port") ?? ""].filter((text) => text !== "")
  if (!ports.every(isPort)) return "must have a port from 1 to 65535"
  // Whoever writes `sslMode=verify-full` believes that the certificate is looked at.
  const other = Array.from(url.searchParams.keys()).find(
    (name) => /ssl/iu.test(name) && !tlsNames.includes(name)
  )
  if (other !== undefined)
    return `must say with ${tlsNames.join(" and ")} how TLS is used: nothing else is read`
  if (parameter(url, "sslrootcert") === "") return "must name a file with sslrootcert, or not have it"
  return problemOfTls(parameter(url, "sslmode"), parameter(url, "sslrootcert"))
}

const problemOfTls = (mode: string | null, rootCert: string | null): string | undefined => {
  if (mode !== null && !modes.some((known) => known === mode)) {
    const insecure = mode === "prefer" || mode === "allow"
    return `must have an sslmode of ${modes.join(", ")}${insecure ? `: ${mode} is in the clear where the server says so` : ""}`
  }
  if (rootCert === "system" && mode !== null && mode !== "verify-full") {
    return "must have the sslmode verify-full, or none, where sslrootcert is system"
  }
  return mode === "verify-ca" && rootCert === null
    ? "must name a file with sslrootcert where sslmode is verify-ca"
    : undefined
}

/** Whether what is sent to it stays on this machine. */
const isLocal = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|::1)$/iu.test(host) || isSocket(host)

const isSocket = (host: string): boolean => host.startsWith("/")

/**
 * How to reach the server of an address without problems. Without `sslmode` a server on another machine is asked for
 * TLS, and its certificate is not looked at: many have one that only themselves vouch for. Who names an `sslrootcert`
 * wants it looked at, wherever the server is: as in libpq `require` with a file is `verify-ca`, and `system` is
 * `verify-full`. A socket needs none.
 */
export const tlsOf = (address: string): Tls => {
  const url = new URL(address)
  const host = hostOf(address)
  const rootCert = parameter(url, "sslrootcert")
  const mode = parameter(url, "sslmode") ?? usualMode(host, rootCert)
  if (mode === "disable" || isSocket(host)) return { mode: "disable" }
  if (mode === "verify-full") return { mode, rootCert: rootCert === "system" ? null : rootCert }
  return rootCert === null ? { mode: "require" } : { mode: "verify-ca", rootCert }
}

const usualMode = (host: string, rootCert: string | null): string => {
  if (rootCert === "system") return "verify-full"
  return rootCert === null && isLocal(host) ? "disable" : "require"
}
