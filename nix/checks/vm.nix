# A machine that runs the service on a PostgreSQL of its own: an agent is made, a chat is answered, and both
# are there after a restart.
{ pkgs, module }:
pkgs.testers.runNixOSTest {
  name = "agentd";
  nodes.machine = {
    imports = [ module ];
    services.agentd = {
      enable = true;
      database.createLocally = true;
      credentials.AGENTD_SECRET_KEY = "/etc/agentd-key";
    };
    environment.etc."agentd-key".text = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
  };

  testScript = ''
    import json

    machine.wait_for_unit("agentd.service")
    machine.wait_for_open_port(3000)
    machine.succeed("curl --fail --retry 10 --retry-all-errors http://127.0.0.1:3000/health/ready")

    url = "postgresql://agentd@localhost/agentd?host=/run/postgresql"
    made = json.loads(
        machine.succeed(f"runuser -u agentd -- env DATABASE_URL='{url}' agentd bootstrap --json")
    )
    workspace = made["workspaceId"]
    headers = f"-H 'Authorization: Bearer {made['token']}' -H 'Content-Type: application/json'"

    def post(path, body):
        return machine.succeed(
            f"curl --fail -sN http://127.0.0.1:3000{path} {headers} -d '{json.dumps(body)}'"
        )

    agent = json.loads(post("/api/agents", {"workspaceId": workspace, "name": "Researcher"}))["data"]
    events = post(
        "/api/chat/messages",
        {"workspaceId": workspace, "agentId": agent["id"], "content": "Hello!"},
    )
    assert "event: done" in events, events
    post(
        "/api/provider-keys",
        {"workspaceId": workspace, "name": "k", "provider": "openai", "model": "m", "apiKey": "sk-x"},
    )

    machine.systemctl("restart agentd.service")
    machine.wait_for_open_port(3000)
    kept = json.loads(
        machine.succeed(f"curl --fail -s http://127.0.0.1:3000/api/agents/{agent['id']} {headers}")
    )
    assert kept["data"] == agent, kept

    machine.succeed("systemctl stop agentd.service")
    machine.succeed("systemctl show -p ExecMainStatus agentd.service | grep -x ExecMainStatus=0")
    machine.succeed("systemctl show -p Result agentd.service | grep -x Result=success")
  '';
}
