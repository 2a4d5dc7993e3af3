# The functions of nixpkgs' lib that the flake uses, with the same meaning.
let
  inherit (builtins)
    all
    any
    attrNames
    concatLists
    elem
    elemAt
    filter
    foldl'
    fromJSON
    head
    isAttrs
    isBool
    isInt
    isList
    isString
    length
    listToAttrs
    map
    mapAttrs
    readFile
    split
    stringLength
    substring
    tail
    ;
  nameValuePair = name: value: { inherit name value; };
  filterAttrs =
    keep: set: listToAttrs (map (n: nameValuePair n set.${n}) (filter (n: keep n set.${n}) (attrNames set)));
  isDerivation = value: isAttrs value && value.type or null == "derivation";
  isPath = value: builtins.isPath value || isString value && substring 0 1 value == "/";
  type = name: check: { inherit name check; };
in
rec {
  inherit
    all
    any
    attrNames
    elem
    filter
    filterAttrs
    head
    isBool
    mapAttrs
    nameValuePair
    tail
    ;

  boolToString = value: if value then "true" else "false";
  count = keep: list: length (filter keep list);
  last = list: elemAt list (length list - 1);
  optional = is: value: if is then [ value ] else [ ];
  optionalAttrs = is: set: if is then set else { };
  toList = value: if isList value then value else [ value ];
  genAttrs = names: make: listToAttrs (map (n: nameValuePair n (make n)) names);
  mapAttrs' = make: set: listToAttrs (map (n: make n set.${n}) (attrNames set));
  mapAttrsToList = make: set: map (n: make n set.${n}) (attrNames set);
  concatMapStringsSep =
    sep: make: list:
    builtins.concatStringsSep sep (map make list);
  hasPrefix = prefix: text: substring 0 (stringLength prefix) text == prefix;
  hasInfix = infix: text: length (splitString infix text) > 1;
  splitString =
    sep: text:
    filter isString (split (builtins.replaceStrings [ "." "|" "+" ] [ "\\." "\\|" "\\+" ] sep) text);
  importJSON = path: fromJSON (readFile path);
  recursiveUpdate =
    a: b:
    a
    // mapAttrs (
      n: v: if isAttrs v && isAttrs (a.${n} or null) && !isDerivation v then recursiveUpdate a.${n} v else v
    ) b;
  getExe = package: "${package}/bin/${package.meta.mainProgram}";

  fileset = {
    unions =
      paths:
      assert all builtins.pathExists paths;
      paths;
    toSource = { root, fileset }: root;
  };
  licenses.unfree.free = false;
  platforms.unix = "unix";

  mkOption = option: option // { _type = "option"; };
  mkEnableOption =
    what:
    mkOption {
      type = types.bool;
      default = false;
      description = "Whether to enable ${what}.";
    };
  mkIf = condition: content: {
    _type = "if";
    inherit condition content;
  };
  mkDefault = content: {
    _type = "default";
    inherit content;
  };

  types = {
    bool = type "bool" isBool;
    int = type "int" isInt;
    str = type "str" isString;
    path = type "path" isPath;
    package = type "package" isDerivation;
    port = type "port" (value: isInt value && value >= 0 && value <= 65535);
    nullOr = of: type "nullOr ${of.name}" (value: value == null || of.check value);
    oneOf = list: type "oneOf" (value: any (t: t.check value) list);
    attrsOf = of: type "attrsOf ${of.name}" (set: isAttrs set && all (n: of.check set.${n}) (attrNames set));
  };
}
