/**
 * How much is forgotten of each run that is over, by when it was, also of those of which only the run is left. Where there
 * are very many runs, an operator makes the index before, concurrently (docs/deploy.md): then it is there.
 *
 * When tables are vacuumed and analyzed: a fifth of a large one is weeks of it, and of a hot small one it is never, since
 * what is dead there is read by each claim until then.
 */
const large = {
  autovacuum_vacuum_scale_factor: 0.02,
  autovacuum_vacuum_insert_scale_factor: 0.05,
  autovacuum_analyze_scale_factor: 0.02
}
const hot = {
  autovacuum_vacuum_scale_factor: 0,
  autovacuum_vacuum_threshold: 500,
  autovacuum_analyze_scale_factor: 0,
  autovacuum_analyze_threshold: 5000,
  autovacuum_vacuum_cost_delay: 0
}
const settled = (table: string, settings: Readonly<Record<string, number>>) =>
  `alter table if exists ${table} set (${Object.entries(settings).map(([name, value]) => `${name} = ${value}`)})`

export const statements = [
  `create index if not exists runs_over on runs (pruned, finished_at) where finished_at is not null`,
  `drop index if exists runs_unpruned`,
  ...["runs", "run_events", "run_steps"].map((table) => settled(table, large)),
  ...["run_slots", "owner_slots", "quota_counts"].map((table) => settled(table, hot))
]
