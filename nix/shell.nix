# What `npm ci`, `npm run check` and `npm test` need; the rest comes from the lock file.
{ pkgs }:
pkgs.mkShell {
  packages = [
    pkgs.nodejs_24
    pkgs.postgresql
    pkgs.nixfmt
  ];
}
