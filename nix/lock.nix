# package.json and package-lock.json as importNpmLock needs them: every entry with the address of its archive,
# which this lock file leaves out, and none for other platforms. Node.js comes from nixpkgs, not from npm.
{
  lib,
  hostPlatform,
  registry,
}:
let
  package = lib.importJSON ../package.json;
  lock = lib.importJSON ../package-lock.json;
  withoutNode = root: removeAttrs root [ "optionalDependencies" ];

  os = if hostPlatform.isDarwin then "darwin" else "linux";
  cpu = if hostPlatform.isAarch64 then "arm64" else "x64";
  admits = list: value: list == null || lib.elem value (lib.toList list);
  isForeign =
    path: entry:
    !(admits (entry.os or null) os && admits (entry.cpu or null) cpu && admits (entry.libc or null) "glibc")
    || lib.hasPrefix "node_modules/node-" path && (entry.bin.node or null) != null;

  # node_modules/a/node_modules/@scope/name is @scope/name, in the archive name-<version>.tgz.
  nameOf = path: lib.last (lib.splitString "node_modules/" path);
  resolve =
    path: entry:
    let
      name = entry.name or (nameOf path);
    in
    { resolved = "${registry}/${name}/-/${baseNameOf name}-${entry.version}.tgz"; }
    // entry
    # npm would ask the registry for those that it misses.
    // lib.optionalAttrs (entry ? optionalDependencies) {
      optionalDependencies = lib.filterAttrs (name: _: kept ? "node_modules/${name}") entry.optionalDependencies;
    };

  kept = lib.filterAttrs (path: entry: !isForeign path entry) (removeAttrs lock.packages [ "" ]);
in
{
  package = withoutNode package;
  packageLock = lock // {
    packages = lib.mapAttrs resolve kept // {
      "" = withoutNode lock.packages."";
    };
  };
}
