# A module system in small: imports, mkIf, mkDefault, typed options of `services.agentd`; what NixOS itself
# declares is merged without a look at it. The unit is rendered as systemd reads it.
{ lib }:
{ system, modules }:
let
  inherit (builtins)
    attrNames
    concatLists
    isAttrs
    isFunction
    isList
    map
    mapAttrs
    toJSON
    ;
  pkgs = import ./packages.nix { inherit lib system; };
  load =
    given:
    let
      module = if isFunction given then given else import given;
    in
    if isAttrs given then
      given
    else
      module {
        inherit lib pkgs;
        config.services = { inherit agentd; };
      };
  collect =
    given:
    let
      module = load given;
      isLong = module ? config || module ? options;
      content = removeAttrs module [
        "imports"
        "options"
      ];
    in
    [
      {
        options = module.options or { };
        config = if isLong then module.config or { } else content;
      }
    ]
    ++ concatLists (map collect (module.imports or [ ]));
  collected = concatLists (map collect modules);

  # Drops what mkIf turns off; a value of mkDefault is the weaker one.
  settle =
    value:
    if !isAttrs value || lib.elem (value.type or null) [ "derivation" ] then
      value
    else if value._type or null == "if" then
      (if value.condition then settle value.content else { })
    else if value._type or null == "default" then
      value
    else
      mapAttrs (_: settle) value;
  plain = value: if isAttrs value && value._type or null == "default" then value.content else value;
  merge =
    path: a: b:
    if isAttrs a && a._type or null == "default" then
      b
    else if isAttrs b && b._type or null == "default" then
      a
    else if isList a && isList b then
      a ++ b
    else if isAttrs a && isAttrs b && !(a ? outPath) then
      a // mapAttrs (n: v: if a ? ${n} then merge "${path}.${n}" a.${n} v else v) b
    else if a == b then
      a
    else
      throw "${path} is defined twice";
  defined = builtins.foldl' (merge "config") { } (map (module: settle module.config) collected);

  declare =
    path: options: given:
    assert isAttrs given || throw "${path} is no set";
    let
      unknown = lib.filterAttrs (n: _: !(options ? ${n})) given;
    in
    if unknown != { } then
      throw "no option ${path}.${builtins.head (attrNames unknown)}"
    else
      mapAttrs (
        n: option:
        if option._type or null == "option" then
          let
            value =
              if given ? ${n} then plain given.${n} else option.default or (throw "${path}.${n} is not set");
          in
          if option.type.check value then value else throw "${path}.${n} is no ${option.type.name}"
        else
          declare "${path}.${n}" option (given.${n} or { })
      ) options;
  options = builtins.foldl' lib.recursiveUpdate { } (map (module: module.options) collected);

  # Found without a look at the conditions around it, since these depend on it.
  below =
    name: value:
    if value._type or null == "if" then
      map (lib.mkIf value.condition) (below name value.content)
    else if value ? ${name} then
      [ value.${name} ]
    else
      [ ];
  given = concatLists (
    map (module: concatLists (map (below "agentd") (below "services" module.config))) collected
  );
  agentd = declare "services.agentd" options.services.agentd (
    builtins.foldl' (merge "services.agentd") { } (map settle given)
  );
  config = defined // {
    services = defined.services or { } // {
      inherit agentd;
    };
  };

  line = name: value: if lib.isBool value then "${name}=${lib.boolToString value}" else "${name}=${toString value}";
  # One line for each word, as NixOS does.
  lines = name: value: lib.concatMapStringsSep "\n" (line name) (lib.toList value);
  section = title: set: lib.concatMapStringsSep "\n" (n: lines n set.${n}) (attrNames set);
  textOf = unit: ''
    [Unit]
    ${section "Unit" {
      Description = unit.description;
      After = unit.after;
      Wants = unit.wants;
      Requires = unit.requires;
    }}
    [Service]
    ${lib.concatMapStringsSep "\n" (n: "Environment=${toJSON "${n}=${unit.environment.${n}}"}") (
      attrNames unit.environment
    )}
    ${section "Service" unit.serviceConfig}
  '';
in
{
  config = config // {
    systemd = (config.systemd or { }) // {
      units = lib.mapAttrs' (n: unit: lib.nameValuePair "${n}.service" { text = textOf unit; }) (
        config.systemd.services or { }
      );
    };
  };
}
