#!/usr/bin/env bash
# Checks what Nix can check without a network: every file parses, flake.lock fits the inputs, and the whole
# flake evaluates, for all systems, against the stand-in for nixpkgs in nix/stub. Nothing is built.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v nix >/dev/null; then
  echo "nix is not on this machine: the flake was NOT checked"
  exit 0
fi

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export NIX_STORE_DIR=$work/store NIX_STATE_DIR=$work/state NIX_LOG_DIR=$work/log HOME=$work/home
export NIX_CONFIG="
  experimental-features = nix-command flakes
  build-users-group =
  sandbox = false
  substitute = false
"
mkdir -p "$HOME" "$work/flake"
# Only these files: the rest of a working folder is large and none of the flake's.
cp -r flake.nix flake.lock package.json package-lock.json tsconfig.json nix console scripts src "$work/flake/"

find flake.nix nix -name '*.nix' -print0 | xargs -0 -n 1 nix-instantiate --parse >/dev/null
echo "every .nix file parses"

nix eval --impure --raw --expr "
  let
    inputs = (import $work/flake/flake.nix).inputs;
    lock = builtins.fromJSON (builtins.readFile $work/flake/flake.lock);
    urlOf = { owner, repo, ref, type }: \"\${type}:\${owner}/\${repo}/\${ref}\";
    fits = name: input:
      let node = lock.nodes.\${lock.nodes.root.inputs.\${name}}; in
      input.url == urlOf node.original
      && builtins.match \"[0-9a-f]{40}\" node.locked.rev != null
      && builtins.match \"sha256-[A-Za-z0-9+/]{43}=\" node.locked.narHash != null
      && node.locked.owner == node.original.owner && node.locked.repo == node.original.repo;
    same = builtins.attrNames inputs == builtins.attrNames lock.nodes.root.inputs;
  in
    if same && builtins.all (name: fits name inputs.\${name}) (builtins.attrNames inputs)
    then \"flake.lock fits the inputs\" else throw \"flake.lock does not fit the inputs of flake.nix\"
"
echo

stub=(--offline --no-write-lock-file --override-input nixpkgs "path:$work/flake/nix/stub")
nix flake check --no-build "${stub[@]}" "path:$work/flake" 2>"$work/log.txt" || {
  cat "$work/log.txt" >&2
  exit 1
}
for system in x86_64-linux aarch64-linux aarch64-darwin; do
  for output in packages checks devShells apps formatter; do
    # Forced whole: `nix flake check` of an older Nix looks at one system alone.
    nix eval --json "${stub[@]}" "path:$work/flake#$output.$system" 2>>"$work/log.txt" \
      --apply 'value: builtins.deepSeq (builtins.toJSON value) true' >/dev/null || {
      tail -n 20 "$work/log.txt" >&2
      exit 1
    }
  done
done
echo "the flake evaluates for all systems"

if systemd-analyze security --help 2>/dev/null | grep -q -- --offline; then
  nix eval --raw "${stub[@]}" "path:$work/flake#checks.x86_64-linux.module.unit" 2>/dev/null >"$work/agentd.service"
  systemd-analyze security --offline=true --threshold=15 "$work/agentd.service" | tail -n 1
else
  echo "systemd-analyze is not on this machine: the exposure of the unit was NOT measured"
fi
