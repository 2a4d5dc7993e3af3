import type { ConnectorServer } from "../../../Schemas/ConnectorServer.ts"

/** The server of one connector: two connectors never share a connection, even to the same address. */
export interface McpServer extends ConnectorServer {
  readonly connectorId: string
}
