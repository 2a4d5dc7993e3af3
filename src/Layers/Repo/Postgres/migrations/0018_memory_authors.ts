/** Who wrote what an entry holds: a user or a run, which it outlives. */
export const statements = [`alter table memory_entries add column author jsonb`]
