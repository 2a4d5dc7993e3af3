import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"

const root = resolve(import.meta.dirname, "../..")
const hasNix = spawnSync("nix", ["--version"]).status === 0
const name = "the flake, against the stand-in for nixpkgs"

/** A mistake in one file, and the words that must tell of it. */
const mistakes: ReadonlyArray<readonly [file: string, from: string, to: string, says: string]> = [
  ["nix/module.nix", 'User = "agentd"', 'User = "root"', "runs as its own user"],
  ["nix/module.nix", "NoNewPrivileges = true", "NoNewPrivileges = false", "is hardened"],
  ["nix/module.nix", 'ProtectSystem = "strict"', 'ProtectSystem = "full"', "is hardened"],
  [
    "nix/module.nix",
    "LockPersonality",
    "MemoryDenyWriteExecute = true;\n LockPersonality",
    "lets V8 compile"
  ],
  ["nix/module.nix", "drainSeconds + 20", "15", "waits for the drain"],
  ["nix/module.nix", "cfg.memory * 9 / 10", "cfg.memory", "is bounded"],
  ["nix/module.nix", "TasksMax = 256", "TasksMax = 0", "is bounded"],
  ["nix/module.nix", "RestartSec = 2", "RestartSec = 0", "comes back"],
  ["nix/module.nix", 'online.target" ] ++', 'online.target" ]; wantedBy_ =', "starts after its database"],
  ["nix/module.nix", "LoadCredential =", "SetCredential =", "LoadCredential"],
  ["nix/module.nix", "DATABASE_URL = escape url", "DATABASE_URL = url", "passes its settings"],
  ["nix/module.nix", "] == 1;", "] >= 1;", "refuses two databases"],
  ["nix/module.nix", "optional cfg.openFirewall", "optional true", "opens the firewall"],
  ["nix/module.nix", "enable = true;", "enabled = true;", "'enable' missing"],
  ["nix/module.nix", "users.groups.agentd = { };", "users.groups.agentd = { ;", "unexpected"],
  ["nix/image.nix", 'User = "1000:1000"', 'User = "0"', "runs as root"],
  ["nix/package.nix", "inherit package packageLock;", "inherit package; packageLock = {};", "packages"],
  ["nix/package.nix", "meta = {", "meta = {\n license = lib.licenses.unfree;", "unfree license"],
  ["nix/lock.nix", "resolved = ", "address = ", "resolved"],
  ["flake.nix", "nixos-26.05", "nixos-26.11", "flake.lock does not fit"]
]

describe.skipIf(!hasNix)(hasNix ? name : `${name} (skipped: no nix on this machine)`, () => {
  const folder = mkdtempSync(join(tmpdir(), "agentd-nix-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  for (const file of [
    "flake.nix",
    "flake.lock",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "nix",
    "console",
    "src",
    "scripts"
  ]) {
    cpSync(join(root, file), join(folder, file), { recursive: true })
  }
  const check = () => spawnSync("bash", ["nix/check.sh"], { cwd: folder, encoding: "utf8" })

  it("is accepted as it is", () => {
    const { status, stderr, stdout } = check()
    assert.strictEqual(status, 0, stderr)
    assert.include(stdout, "the flake evaluates for all systems")
  })

  for (const [file, from, to, says] of mistakes) {
    it(`${file}: ${to.split("\n")[0]} is refused`, () => {
      const path = join(folder, file)
      const text = readFileSync(path, "utf8")
      assert.include(text, from)
      try {
        writeFileSync(
          path,
          text.replace(from, () => to)
        )
        const { status, stderr } = check()
        assert.notStrictEqual(status, 0)
        assert.include(stderr, says)
      } finally {
        writeFileSync(path, text)
      }
    })
  }

  it("leaves foreign platforms and Node.js out of the lock file", () => {
    const expression = `
      let
        lock = import ${folder}/nix/lock.nix {
          lib = import ${folder}/nix/stub/lib.nix;
          hostPlatform = { isDarwin = false; isAarch64 = false; };
          registry = "https://registry.example";
        };
      in builtins.mapAttrs (_: entry: entry.resolved or null) lock.packageLock.packages`
    const state = mkdtempSync(join(tmpdir(), "agentd-nix-state-"))
    const text = execFileSync(
      "nix",
      ["eval", "--extra-experimental-features", "nix-command", "--impure", "--json", "--expr", expression],
      { encoding: "utf8", env: { ...process.env, NIX_STATE_DIR: state, NIX_STORE_DIR: join(state, "store") } }
    )
    rmSync(state, { recursive: true, force: true })
    const resolved: Readonly<Record<string, string | null>> = JSON.parse(text)
    const paths = Object.keys(resolved)
    assert.isNull(resolved[""])
    assert.strictEqual(
      resolved["node_modules/@ai-sdk/openai"]?.replace(/\d[\d.]*\.tgz$/, "V"),
      "https://registry.example/@ai-sdk/openai/-/openai-V"
    )
    for (const needed of ["cli-linux-x64", "lightningcss-linux-x64-gnu", "binding-linux-x64-gnu"])
      assert.isTrue(
        paths.some((path) => path.endsWith(needed)),
        needed
      )
    assert.deepStrictEqual(
      paths.filter((path) => /darwin|win32|musl|arm64|node-linux|node-win|fsevents/.test(path)),
      []
    )
  })
})
