{
  description = "A stand-in for nixpkgs: enough to evaluate the flake of agentd without a network";

  outputs =
    { self }:
    let
      lib = import ./lib.nix;
    in
    {
      lib = lib // {
        nixosSystem = import ./modules.nix { inherit lib; };
      };
      legacyPackages = lib.genAttrs [
        "x86_64-linux"
        "aarch64-linux"
        "aarch64-darwin"
      ] (system: import ./packages.nix { inherit lib system; });
    };
}
