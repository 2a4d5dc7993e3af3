/**
 * The words of a memory entry, with its workspace among them, so that one tenant's search reads nothing of another's.
 * Only the beginning of a value: an index of all its words would cost more to write than the entry itself. What is
 * written goes into the index at once, so that a search has no list of what is pending to look through.
 */
export const statements = [
  `create function memory_words(workspace_id text, key text, category text, value text) returns tsvector
    language sql immutable parallel safe as $$
      select array_to_tsvector(array[workspace_id]) || to_tsvector('simple', translate(
        key || ' ' || category || ' ' || left(value, 8192),
        '!"#$%&''()*+,-./:;<=>?@[\\]^_\`{|}~', repeat(' ', 32)))
    $$`,
  `create index memory_entries_words on memory_entries
    using gin (memory_words(workspace_id, key, category, value)) with (fastupdate = off)`,
  // ANALYZE would compute the words of 30,000 entries, for statistics that no plan needs.
  `alter index memory_entries_words alter column 1 set statistics 0`
]
