# What the module makes of its options, looked at in the evaluated system.
{
  nixpkgs,
  pkgs,
  module,
}:
let
  inherit (pkgs) lib;
  evaluate =
    settings:
    (nixpkgs.lib.nixosSystem {
      inherit (pkgs.stdenv.hostPlatform) system;
      modules = [
        module
        {
          services.agentd = {
            enable = true;
          }
          // settings;
          system.stateVersion = "26.05";
        }
      ];
    }).config;

  local = evaluate {
    database.createLocally = true;
    openFirewall = true;
    port = 8080;
    settings = {
      AGENTD_DRAIN_SECONDS = 40;
      AGENTD_ALLOW_PRIVATE_ADDRESSES = true;
      OTEL_EXPORTER_OTLP_ENDPOINT = "https://otlp.example.org";
      OTEL_RESOURCE_ATTRIBUTES = "deployment.environment.name=a%20b";
    };
  };
  remote = evaluate {
    database.urlFile = "/run/secrets/url";
    credentials.AGENTD_SECRET_KEY = "/run/secrets/key";
    credentials.OTEL_EXPORTER_OTLP_HEADERS = "/run/secrets/otlp-headers";
    environmentFile = "/run/secrets/env";
    memory = 1000;
  };
  plain = evaluate {
    database.url = "postgresql://db.example.org/agent%64";
    settings.NODE_OPTIONS = "--max-old-space-size=700";
  };
  refusals =
    config: lib.filter (entry: !entry.assertion && lib.hasPrefix "services.agentd" entry.message) config.assertions;
  isRefused = settings: refusals (evaluate settings) != [ ];

  unit = local.systemd.services.agentd;
  service = unit.serviceConfig;
  remoteUnit = remote.systemd.services.agentd;

  on = [
    "LockPersonality"
    "NoNewPrivileges"
    "PrivateDevices"
    "PrivateTmp"
    "PrivateUsers"
    "ProtectClock"
    "ProtectControlGroups"
    "ProtectHome"
    "ProtectHostname"
    "ProtectKernelLogs"
    "ProtectKernelModules"
    "ProtectKernelTunables"
    "RemoveIPC"
    "RestrictNamespaces"
    "RestrictRealtime"
    "RestrictSUIDSGID"
  ];

  expectations = {
    "runs as its own user" =
      service.User == "agentd"
      && service.Group == "agentd"
      && local.users.users.agentd.isSystemUser
      && local.users.users.agentd.group == "agentd"
      && local.users.groups ? agentd;
    "runs the service" = lib.hasInfix "/bin/agentd serve" service.ExecStart;
    "is hardened" =
      lib.all (name: service.${name} == true) on
      && service.CapabilityBoundingSet == ""
      && service.AmbientCapabilities == ""
      && service.ProtectSystem == "strict"
      && service.ProtectProc == "invisible"
      && service.ProcSubset == "pid"
      && service.DevicePolicy == "closed"
      && service.KeyringMode == "private"
      && service.SystemCallArchitectures == "native"
      && service.UMask == "0077"
      &&
        service.RestrictAddressFamilies == [
          "AF_INET"
          "AF_INET6"
          "AF_UNIX"
        ]
      &&
        service.SystemCallFilter == [
          "@system-service"
          "~@privileged @resources"
        ];
    "lets V8 compile" = !(service ? MemoryDenyWriteExecute);
    "waits for the drain" =
      service.TimeoutStopSec == 60 && remoteUnit.serviceConfig.TimeoutStopSec == 30 && service.KillMode == "mixed";
    # Sooner, systemd gives up after five starts.
    "comes back" =
      service.Restart == "always" && service.RestartSec >= 2 && unit.wantedBy == [ "multi-user.target" ];
    "is bounded" =
      service.MemoryMax == "2048M"
      && service.MemoryHigh == "1843M"
      && service.TasksMax == 256
      && unit.environment.NODE_OPTIONS == "--max-old-space-size=1024"
      && remoteUnit.serviceConfig.MemoryMax == "1000M"
      && remoteUnit.serviceConfig.MemoryHigh == "900M"
      && remoteUnit.environment.NODE_OPTIONS == "--max-old-space-size=500"
      && plain.systemd.services.agentd.environment.NODE_OPTIONS == "--max-old-space-size=700";
    "has its folder" =
      service.StateDirectory == "agentd"
      && service.StateDirectoryMode == "0700"
      && service.WorkingDirectory == "/var/lib/agentd"
      && unit.environment.AGENTD_DATA_DIR == "/var/lib/agentd";
    "starts after its database" =
      unit.requires == [ "postgresql.target" ]
      && lib.elem "postgresql.target" unit.after
      && lib.elem "network-online.target" unit.after
      && lib.elem "network-online.target" unit.wants
      && remoteUnit.requires == [ ];
    "makes its database" =
      local.services.postgresql.enable
      && lib.elem "agentd" local.services.postgresql.ensureDatabases
      && lib.any (user: user.name == "agentd" && user.ensureDBOwnership) local.services.postgresql.ensureUsers
      && unit.environment.DATABASE_URL == "postgresql://agentd@localhost/agentd?host=/run/postgresql";
    "passes its settings" =
      unit.environment.HOST == "127.0.0.1"
      && unit.environment.PORT == "8080"
      && unit.environment.AGENTD_DRAIN_SECONDS == "40"
      && unit.environment.AGENTD_ALLOW_PRIVATE_ADDRESSES == "true"
      && unit.environment.OTEL_EXPORTER_OTLP_ENDPOINT == "https://otlp.example.org"
      && unit.environment.OTEL_RESOURCE_ATTRIBUTES == "deployment.environment.name=a%%20b"
      && plain.systemd.services.agentd.environment.DATABASE_URL == "postgresql://db.example.org/agent%%64";
    "opens the firewall when told to" =
      lib.elem 8080 local.networking.firewall.allowedTCPPorts
      && !lib.elem 3000 remote.networking.firewall.allowedTCPPorts;
    "hands secrets over as credentials" =
      remoteUnit.serviceConfig.LoadCredential == [
        "AGENTD_SECRET_KEY:/run/secrets/key"
        "DATABASE_URL:/run/secrets/url"
        "OTEL_EXPORTER_OTLP_HEADERS:/run/secrets/otlp-headers"
      ]
      && remoteUnit.environment.DATABASE_URL_FILE == "%d/DATABASE_URL"
      && remoteUnit.environment.AGENTD_SECRET_KEY_FILE == "%d/AGENTD_SECRET_KEY"
      && remoteUnit.environment.OTEL_EXPORTER_OTLP_HEADERS_FILE == "%d/OTEL_EXPORTER_OTLP_HEADERS"
      && !(remoteUnit.environment ? DATABASE_URL)
      && service.LoadCredential == [ ];
    "reads its environment file" =
      remoteUnit.serviceConfig.EnvironmentFile == "/run/secrets/env" && !(service ? EnvironmentFile);
    "refuses nothing that is right" = refusals local ++ refusals remote ++ refusals plain == [ ];
    "refuses no database" = isRefused { };
    "refuses two databases" = isRefused {
      database.createLocally = true;
      database.urlFile = "/run/secrets/url";
    };
    "refuses a secret in the store" = isRefused {
      database.createLocally = true;
      settings.OPENAI_API_KEY = "sk-secret";
    };
    "refuses a credential that nobody reads" = isRefused {
      database.createLocally = true;
      credentials.OPENAI_KEY = "/run/secrets/key";
    };
    "refuses a setting that has an option" = isRefused {
      database.createLocally = true;
      settings.PORT = 80;
    };
    "refuses too little memory" = isRefused {
      database.createLocally = true;
      memory = 256;
    };
    "refuses a port that needs a capability" = isRefused {
      database.createLocally = true;
      port = 443;
    };
  };
  failed = lib.attrNames (lib.filterAttrs (_: holds: !holds) expectations);
in
if failed != [ ] then
  throw "the module breaks: ${toString failed}"
else
  pkgs.runCommand "agentd-module" { unit = local.systemd.units."agentd.service".text; } ''
    printf '%s' "$unit" > $out
  ''
