{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.agentd;
  socket = "postgresql://agentd@localhost/agentd?host=/run/postgresql";
  # What agentd reads from the file that NAME_FILE names (docs/settings.md).
  secrets = [
    "DATABASE_DIRECT_URL"
    "DATABASE_READ_URL"
    "DATABASE_URL"
    "AGENTD_SECRET_KEY"
    "AGENTD_SECRET_KEYS_OLD"
    "OPENAI_API_KEY"
    "ANTHROPIC_API_KEY"
    "GOOGLE_GENERATIVE_AI_API_KEY"
    "OTEL_EXPORTER_OTLP_HEADERS"
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS"
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS"
  ];
  ownOptions = [
    "HOST"
    "PORT"
    "AGENTD_DATA_DIR"
  ];

  credentials =
    cfg.credentials // lib.optionalAttrs (cfg.database.urlFile != null) { DATABASE_URL = cfg.database.urlFile; };
  url = if cfg.database.createLocally then socket else cfg.database.url;

  # systemd reads a single percent sign as the begin of a specifier.
  escape = builtins.replaceStrings [ "%" ] [ "%%" ];
  toText = value: escape (if lib.isBool value then lib.boolToString value else toString value);
  drainSeconds = cfg.settings.AGENTD_DRAIN_SECONDS or 10;
in
{
  options.services.agentd = {
    enable = lib.mkEnableOption "agentd, a service that orchestrates AI agents";

    package = lib.mkOption {
      type = lib.types.package;
      description = "The agentd to run.";
    };

    host = lib.mkOption {
      type = lib.types.str;
      default = "127.0.0.1";
      description = "Address to listen on.";
    };

    port = lib.mkOption {
      type = lib.types.port;
      default = 3000;
      description = "Port to listen on.";
    };

    openFirewall = lib.mkOption {
      type = lib.types.bool;
      default = false;
      description = "Whether to open the port in the firewall.";
    };

    settings = lib.mkOption {
      type = lib.types.attrsOf (
        lib.types.oneOf [
          lib.types.bool
          lib.types.int
          lib.types.str
        ]
      );
      default = { };
      example = {
        AGENTD_RUN_CONCURRENCY = 128;
      };
      description = "Variables of docs/settings.md that are no secrets: they are readable by all in the store.";
    };

    memory = lib.mkOption {
      type = lib.types.int;
      default = 2048;
      description = ''
        How many MiB the service may have. Half of it is for the heap of Node.js, unless settings.NODE_OPTIONS says
        otherwise; the rest is for bodies, the embedded database and what is compiled.
      '';
    };

    environmentFile = lib.mkOption {
      type = lib.types.nullOr lib.types.path;
      default = null;
      example = "/run/secrets/agentd.env";
      description = "File of lines NAME=value, read by systemd as root.";
    };

    credentials = lib.mkOption {
      type = lib.types.attrsOf lib.types.path;
      default = { };
      example = {
        AGENTD_SECRET_KEY = "/run/secrets/agentd-key";
      };
      description = "Files with the values of secret variables, which systemd hands to the service alone.";
    };

    database = {
      createLocally = lib.mkOption {
        type = lib.types.bool;
        default = false;
        description = "Whether to run PostgreSQL here, with a database that agentd reaches by its socket.";
      };

      url = lib.mkOption {
        type = lib.types.nullOr lib.types.str;
        default = null;
        example = "postgresql://agentd@db.example.org/agentd?sslmode=verify-full";
        description = ''
          Address of the database, without a password: it is readable by all in the store. A server on another machine
          is asked for TLS unless it says sslmode=disable (docs/deploy.md).
        '';
      };

      urlFile = lib.mkOption {
        type = lib.types.nullOr lib.types.path;
        default = null;
        example = "/run/secrets/agentd-database-url";
        description = "File with the address of the database.";
      };
    };
  };

  config = lib.mkIf cfg.enable {
    assertions = [
      {
        assertion =
          lib.count (set: set) [
            cfg.database.createLocally
            (cfg.database.url != null)
            (cfg.database.urlFile != null)
          ] == 1;
        message = "services.agentd.database: set exactly one of createLocally, url and urlFile.";
      }
      {
        assertion = cfg.port >= 1024;
        message = "services.agentd.port: below 1024 needs a capability that agentd does not get; put a proxy in front.";
      }
      {
        assertion = cfg.memory >= 512;
        message = "services.agentd.memory: agentd needs 512 MiB at least.";
      }
      {
        assertion = lib.all (name: lib.elem name (lib.tail secrets)) (lib.attrNames cfg.credentials);
        message = "services.agentd.credentials: agentd reads only these from files: ${toString (lib.tail secrets)}.";
      }
      {
        assertion = !lib.any (name: cfg.settings ? ${name}) secrets;
        message = "services.agentd.settings: secrets belong into credentials, the store is readable by all.";
      }
      {
        assertion = !lib.any (name: cfg.settings ? ${name}) ownOptions;
        message = "services.agentd.settings: these have options or values of their own: ${toString ownOptions}.";
      }
    ];

    users.users.agentd = {
      isSystemUser = true;
      group = "agentd";
    };
    users.groups.agentd = { };

    environment.systemPackages = [ cfg.package ];

    networking.firewall.allowedTCPPorts = lib.optional cfg.openFirewall cfg.port;

    services.postgresql = lib.mkIf cfg.database.createLocally {
      enable = true;
      ensureDatabases = [ "agentd" ];
      ensureUsers = [
        {
          name = "agentd";
          ensureDBOwnership = true;
        }
      ];
    };

    systemd.services.agentd = {
      description = "agentd";
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ] ++ lib.optional cfg.database.createLocally "postgresql.target";
      requires = lib.optional cfg.database.createLocally "postgresql.target";

      environment = {
        NODE_OPTIONS = "--max-old-space-size=${toString (cfg.memory / 2)}";
      }
      // lib.mapAttrs (_: toText) cfg.settings
      // {
        HOST = cfg.host;
        PORT = toString cfg.port;
        NODE_ENV = "production";
        AGENTD_DATA_DIR = "/var/lib/agentd";
      }
      // lib.optionalAttrs (url != null) { DATABASE_URL = escape url; }
      // lib.mapAttrs' (name: _: lib.nameValuePair "${name}_FILE" "%d/${name}") credentials;

      serviceConfig = {
        ExecStart = "${lib.getExe cfg.package} serve";
        User = "agentd";
        Group = "agentd";
        StateDirectory = "agentd";
        StateDirectoryMode = "0700";
        WorkingDirectory = "/var/lib/agentd";
        LoadCredential = lib.mapAttrsToList (name: path: "${name}:${path}") credentials;
        Restart = "always";
        RestartSec = 2;
        # Streams get the drain time, then the rest is closed in order.
        TimeoutStopSec = drainSeconds + 20;
        KillMode = "mixed";
        # Slower first, and then ended and begun again: the rest of the machine goes on.
        MemoryHigh = "${toString (cfg.memory * 9 / 10)}M";
        MemoryMax = "${toString cfg.memory}M";
        # Threads; more than it ever has.
        TasksMax = 256;

        # MemoryDenyWriteExecute is left out on purpose: V8 compiles as it runs.
        AmbientCapabilities = "";
        CapabilityBoundingSet = "";
        DevicePolicy = "closed";
        KeyringMode = "private";
        LockPersonality = true;
        NoNewPrivileges = true;
        PrivateDevices = true;
        PrivateTmp = true;
        PrivateUsers = true;
        ProcSubset = "pid";
        ProtectClock = true;
        ProtectControlGroups = true;
        ProtectHome = true;
        ProtectHostname = true;
        ProtectKernelLogs = true;
        ProtectKernelModules = true;
        ProtectKernelTunables = true;
        ProtectProc = "invisible";
        ProtectSystem = "strict";
        RemoveIPC = true;
        RestrictAddressFamilies = [
          "AF_INET"
          "AF_INET6"
          "AF_UNIX"
        ];
        RestrictNamespaces = true;
        RestrictRealtime = true;
        RestrictSUIDSGID = true;
        SystemCallArchitectures = "native";
        SystemCallErrorNumber = "EPERM";
        SystemCallFilter = [
          "@system-service"
          "~@privileged @resources"
        ];
        UMask = "0077";
      }
      // lib.optionalAttrs (cfg.environmentFile != null) { EnvironmentFile = cfg.environmentFile; };
    };
  };
}
