/** What models are shown of a reply again, and what it cost. */
export const statements = [
  `alter table messages add column parts jsonb`,
  `alter table messages add column input_tokens integer`,
  `alter table messages add column output_tokens integer`
]
