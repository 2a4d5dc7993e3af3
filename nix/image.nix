{
  lib,
  agentd,
  cacert,
  dockerTools,
}:
dockerTools.buildLayeredImage {
  name = "agentd";
  tag = agentd.version;
  contents = [ cacert ];
  # The folder of the embedded database belongs to the user that runs.
  fakeRootCommands = ''
    mkdir -p data tmp
    chown 1000:1000 data
    chmod 0700 data
    chmod 1777 tmp
  '';
  config = {
    Entrypoint = [ (lib.getExe agentd) ];
    Cmd = [ "serve" ];
    User = "1000:1000";
    WorkingDir = "/data";
    Env = [
      "AGENTD_DATA_DIR=/data"
      "HOST=0.0.0.0"
      "NODE_ENV=production"
      "NODE_EXTRA_CA_CERTS=${cacert}/etc/ssl/certs/ca-bundle.crt"
    ];
    ExposedPorts."3000/tcp" = { };
    Volumes."/data" = { };
    StopSignal = "SIGTERM";
  };
}
