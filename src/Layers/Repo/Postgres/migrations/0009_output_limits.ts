/** How many tokens an answer of a provider key may have. */
export const statements = [`alter table provider_keys add column max_output_tokens integer`]
