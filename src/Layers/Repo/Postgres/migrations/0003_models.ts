/** What models are shown of a reply again, what it cost, and the key that answers by default. */
export const statements = [
  `alter table messages add column parts jsonb`,
  `alter table messages add column input_tokens integer`,
  `alter table messages add column output_tokens integer`,
  `alter table workspaces
    add column default_provider_key_id text references provider_keys on delete set null`
]
