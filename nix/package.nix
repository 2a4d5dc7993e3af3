{
  lib,
  stdenv,
  buildNpmPackage,
  importNpmLock,
  makeWrapper,
  nodejs_24,
  pnpm_10 ? null,
  pnpm_9 ? null,
  # The registry that nixpkgs itself fetches packages of npm from; the lock file's hashes hold for any other.
  registry ?
    let
      addresses = map (pnpm: pnpm.src.url or "") [
        pnpm_10
        pnpm_9
      ];
      ofRegistry = lib.filter (lib.hasInfix "/pnpm/-/pnpm-") addresses;
    in
    if ofRegistry == [ ] then
      throw "agentd: override `registry` with the address that packages of npm come from"
    else
      lib.head (lib.splitString "/pnpm/-/" (lib.head ofRegistry)),
}:
let
  inherit
    (import ./lock.nix {
      inherit lib registry;
      inherit (stdenv) hostPlatform;
    })
    package
    packageLock
    ;
in
buildNpmPackage {
  pname = package.name;
  inherit (package) version;
  src = lib.fileset.toSource {
    root = ../.;
    fileset = lib.fileset.unions [
      ../package.json
      ../package-lock.json
      # The settings that those of the console extend.
      ../tsconfig.json
      ../console
      ../scripts
      ../src
    ];
  };

  nodejs = nodejs_24;
  npmDeps = importNpmLock { inherit package packageLock; };
  npmConfigHook = importNpmLock.npmConfigHook;
  npmFlags = [ "--ignore-scripts" ];
  nativeBuildInputs = [ makeWrapper ];

  # The bundle needs nothing but what scripts/build.mjs leaves out of it.
  installPhase = ''
    runHook preInstall
    home=$out/libexec/agentd
    mkdir -p $home/node_modules/@electric-sql
    # One bundle, since the sources are these alone; its name is a hash.
    cp -r dist/* $home/dist
    cp package.json $home/
    cp -rL node_modules/@electric-sql/pglite $home/node_modules/@electric-sql/
    cp -rL node_modules/undici $home/node_modules/
    makeWrapper ${lib.getExe nodejs_24} $out/bin/agentd --add-flags $home/dist/cli.js
    runHook postInstall
  '';

  doInstallCheck = true;
  installCheckPhase = ''
    $out/bin/agentd --version
    test -s $out/libexec/agentd/dist/console/index.html
  '';

  meta = {
    description = package.description;
    # No license: nixpkgs builds nothing that says it is unfree, unless whoever uses the flake allows it.
    mainProgram = "agentd";
    platforms = lib.platforms.unix;
  };
}
