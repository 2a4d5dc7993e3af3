# The packages that the flake names. Each is a derivation that would print its inputs: nothing of it is built.
{ lib, system }:
let
  hostPlatform = {
    inherit system;
    isDarwin = system == "aarch64-darwin";
    isAarch64 = lib.hasPrefix "aarch64" system;
  };
  make =
    name: inputs: more:
    derivation {
      inherit name system;
      builder = "/bin/sh";
      inputs = builtins.toJSON inputs;
    }
    // more;
  tool =
    name:
    make name { } {
      version = "1";
      meta.mainProgram = name;
    };
  required = names: set: lib.all (n: set ? ${n} || throw "${n} is missing") names;

  callPackage =
    file: given:
    let
      function = import file;
      wanted = builtins.functionArgs function;
      found = lib.filterAttrs (n: _: wanted ? ${n}) pkgs;
    in
    function (found // given);

  # As a machine is built: not with an assertion that fails.
  unitsOf =
    node:
    let
      inherit
        (import ./modules.nix { inherit lib; } {
          inherit system;
          modules = [ node ];
        })
        config
        ;
      failed = lib.filter (entry: !entry.assertion) config.assertions;
    in
    if failed == [ ] then config.systemd.units else throw (lib.head failed).message;

  pkgs = {
    inherit lib callPackage hostPlatform;
    stdenv = { inherit hostPlatform; };
    nodejs_24 = tool "node";
    postgresql = tool "postgresql";
    nixfmt = tool "nixfmt";
    nixfmt-tree = tool "treefmt";
    cacert = tool "cacert";
    makeWrapper = tool "makeWrapper";
    # The newest one comes from elsewhere.
    pnpm_10.src.url = "https://source.example/pnpm/archive/10.tar.gz";
    pnpm_9.src.url = "https://registry.example/pnpm/-/pnpm-9.tgz";

    # As in nixpkgs: without these of every entry the evaluation fails.
    importNpmLock = {
      npmConfigHook = tool "npm-config-hook";
      __functor =
        _:
        { package, packageLock }:
        let
          entries = lib.filterAttrs (path: _: path != "") packageLock.packages;
          isWhole =
            path: entry:
            (lib.hasPrefix "https://registry.example/" entry.resolved && lib.hasPrefix "sha512-" entry.integrity)
            || throw "${path} can't be fetched";
          named = lib.attrNames ((package.dependencies or { }) // (package.devDependencies or { }));
        in
        assert lib.all (path: isWhole path entries.${path}) (lib.attrNames entries);
        assert lib.all (name: entries ? "node_modules/${name}" || throw "${name} is not locked") named;
        make "npm-deps" { inherit package packageLock; } { };
    };
    buildNpmPackage =
      args:
      assert required [ "pname" "version" "src" "npmDeps" "npmConfigHook" "installPhase" "meta" ] args;
      assert !(args.meta ? license) || args.meta.license.free || throw "${args.pname} has an unfree license";
      make "${args.pname}-${args.version}" (removeAttrs args [ "src" ]) { inherit (args) version meta; };

    dockerTools.buildLayeredImage =
      args:
      assert required [ "name" "tag" "contents" "config" ] args;
      assert args.config.User or "0" != "0" || throw "the image runs as root";
      assert lib.any (entry: entry.name == "cacert") args.contents || throw "the image has no certificates";
      make "${args.name}.tar.gz" args { };

    mkShell = { packages }: make "shell" packages { };
    runCommand =
      name: env: script:
      make name { inherit env script; } env;

    testers.runNixOSTest =
      args:
      assert required [ "name" "nodes" "testScript" ] args;
      make "vm-test-${args.name}" {
        inherit (args) testScript;
        units = lib.mapAttrs (_: unitsOf) args.nodes;
      } { };
  };
in
pkgs
