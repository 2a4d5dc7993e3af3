/** What the last use of a connector has shown: apart, since it is written more often and read less. */
export const statements = [
  `create table connector_health (
    connector_id text primary key references connectors (id) on delete cascade,
    checked_at timestamptz not null,
    error jsonb,
    server_name text,
    server_version text,
    protocol_version text
  )`
]
