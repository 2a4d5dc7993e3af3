/**
 * How much is forgotten of each run that is over, by when it was, also of those of which only the run is left. Where there
 * are very many runs, an operator makes the index before, concurrently (docs/deploy.md): then it is there.
 *
 * Large tables are vacuumed and analyzed when a fiftieth of them is dead or changed: the usual fifth of a year of runs
 * would be weeks of updates, which every index is read through for at once. Of small tables that is 50 rows as it is.
 */
const settings = {
  autovacuum_vacuum_scale_factor: 0.02,
  autovacuum_vacuum_insert_scale_factor: 0.05,
  autovacuum_analyze_scale_factor: 0.02
}
const given = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
export const vacuumedEarly = (table: string) => `alter table ${table} set (${given})`

export const statements = [
  `create index if not exists runs_over on runs (pruned, finished_at) where finished_at is not null`,
  `drop index if exists runs_unpruned`,
  ...["runs", "run_events", "run_steps"].map(vacuumedEarly)
]
