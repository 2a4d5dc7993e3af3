{
  description = "agentd: a REST service that orchestrates AI agents";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;
      linux = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      pkgsOf = system: nixpkgs.legacyPackages.${system};
      forSystems = systems: make: lib.genAttrs systems (system: make (pkgsOf system));
      forAll = forSystems (linux ++ [ "aarch64-darwin" ]);
      forLinux = forSystems linux;
      packageOf = pkgs: pkgs.callPackage ./nix/package.nix { };
    in
    {
      packages = lib.recursiveUpdate (forAll (pkgs: { default = packageOf pkgs; })) (
        forLinux (pkgs: { image = pkgs.callPackage ./nix/image.nix { agentd = packageOf pkgs; }; })
      );

      apps = forAll (pkgs: {
        default = {
          type = "app";
          program = lib.getExe (packageOf pkgs);
        };
      });

      overlays.default = final: _: { agentd = packageOf final; };

      nixosModules.default =
        { lib, pkgs, ... }:
        {
          imports = [ ./nix/module.nix ];
          services.agentd.package = lib.mkDefault (packageOf pkgs);
        };

      devShells = forAll (pkgs: { default = import ./nix/shell.nix { inherit pkgs; }; });

      checks = lib.recursiveUpdate (forAll (pkgs: { package = packageOf pkgs; })) (
        forLinux (pkgs: {
          module = import ./nix/checks/module.nix {
            inherit nixpkgs pkgs;
            module = self.nixosModules.default;
          };
          vm = import ./nix/checks/vm.nix {
            inherit pkgs;
            module = self.nixosModules.default;
          };
        })
      );

      formatter = forAll (pkgs: pkgs.nixfmt-tree);
    };
}
