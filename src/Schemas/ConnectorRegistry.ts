/** What is known of an outside provider before anybody connects to it. */
export interface RegistryEntry {
  readonly name: string
  readonly kind: "mcp" | "oauth" | "api_key"
  readonly defaultScopes: ReadonlyArray<string>
  /** The public MCP server of the provider, where it is known to have one. */
  readonly mcpUrl?: string
}

const registry: Readonly<Record<string, RegistryEntry>> = {
  asana: { name: "Asana", kind: "mcp", defaultScopes: ["default"], mcpUrl: "https://mcp.asana.com/v2/mcp" },
  atlassian: {
    name: "Atlassian",
    kind: "mcp",
    defaultScopes: ["read:jira-work", "read:confluence-content.all"],
    mcpUrl: "https://mcp.atlassian.com/v1/mcp"
  },
  github: {
    name: "GitHub",
    kind: "mcp",
    defaultScopes: ["repo", "read:user"],
    mcpUrl: "https://api.githubcopilot.com/mcp/"
  },
  gmail: { name: "Gmail", kind: "oauth", defaultScopes: ["https://www.googleapis.com/auth/gmail.readonly"] },
  "google-calendar": {
    name: "Google Calendar",
    kind: "oauth",
    defaultScopes: ["https://www.googleapis.com/auth/calendar.readonly"]
  },
  "google-drive": {
    name: "Google Drive",
    kind: "oauth",
    defaultScopes: ["https://www.googleapis.com/auth/drive.readonly"]
  },
  hubspot: { name: "HubSpot", kind: "mcp", defaultScopes: [], mcpUrl: "https://mcp.hubspot.com/" },
  linear: { name: "Linear", kind: "mcp", defaultScopes: ["read"], mcpUrl: "https://mcp.linear.app/mcp" },
  notion: { name: "Notion", kind: "mcp", defaultScopes: [], mcpUrl: "https://mcp.notion.com/mcp" },
  sentry: {
    name: "Sentry",
    kind: "mcp",
    defaultScopes: ["org:read", "event:read"],
    mcpUrl: "https://mcp.sentry.dev/mcp"
  },
  slack: { name: "Slack", kind: "oauth", defaultScopes: ["channels:read", "chat:write"] },
  stripe: { name: "Stripe", kind: "mcp", defaultScopes: [], mcpUrl: "https://mcp.stripe.com/" }
}

/** The entry of a provider, if the registry has one; names are compared as they are written. */
export const registryEntry = (providerId: string | null): RegistryEntry | undefined =>
  providerId !== null && Object.hasOwn(registry, providerId) ? registry[providerId] : undefined

/** The ids of all of them, in order. */
export const knownProviders: ReadonlyArray<string> = Object.keys(registry)
