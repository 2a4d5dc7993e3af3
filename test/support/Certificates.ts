import { execFileSync, spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"

/** Whether this machine can make certificates. */
export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0

/** A new key and a certificate that only itself vouches for, of `localhost` and 127.0.0.1, in files of `folder`. */
export const makeCertificate = (folder: string, name: string) => {
  const [key, certificate] = [Path.join(folder, `${name}.key`), Path.join(folder, `${name}.pem`)]
  const words = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
  const names = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
  execFileSync("openssl", ["req", "-x509", ...words, ...names, "-keyout", key, "-out", certificate], {
    stdio: "ignore"
  })
  Fs.chmodSync(key, 0o600)
  // Root hands them to whom it starts a PostgreSQL as, where there is one.
  if (process.getuid?.() === 0) spawnSync("chown", ["postgres", key, certificate])
  return { key, certificate }
}
