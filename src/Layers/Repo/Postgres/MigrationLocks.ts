/** What statements of migrations keep even readers out of. */
const alone = ["runs", "run_slots", "owner_slots"]

/** Less than the `deadlock_timeout` of PostgreSQL, a second: nobody's statement is broken off. */
const patienceMillis = 300
/** Longer than statements of nodes usually may take: those who read all the time let each try of this kind through. */
const longPatienceMillis = 15_000
const longEach = 10
const mostTries = 200

/**
 * Takes all tables that a migration may change at once, while nodes of the version before serve. They take tables in
 * orders of their own, and whoever held some and waited for others would be in a deadlock with them: so this waits for a
 * moment, lets go of all that it has, and tries again. Nobody else is in the tables when the first is changed;
 * those that are only read can still be. Where somebody holds a table for minutes (a backup), it fails and says so.
 */
export const takeTables = `do $$
  declare
    names text := (select string_agg(format('%I', tablename), ', ') from pg_tables
      where schemaname = current_schema() and pg_has_role(tableowner, 'usage'));
    alone text := (select string_agg(format('%I', tablename), ', ') from pg_tables
      where schemaname = current_schema() and tablename in (${alone.map((name) => `'${name}'`).join(", ")}));
    patience_before text := current_setting('lock_timeout');
  begin
    for n in 1..${mostTries} loop
      begin
        perform set_config('lock_timeout',
          (case when n % ${longEach} = 0 then ${longPatienceMillis} else ${patienceMillis} end)::text, true);
        if names is not null then execute 'lock table ' || names || ' in share row exclusive mode'; end if;
        if alone is not null then execute 'lock table ' || alone || ' in access exclusive mode'; end if;
        perform set_config('lock_timeout', patience_before, true);
        return;
      exception when lock_not_available or deadlock_detected then
        perform pg_sleep(0.05 + random() * 0.2);
      end;
    end loop;
    raise exception using errcode = 'lock_not_available',
      message = 'the tables can''t be changed, since a session holds some for minutes: a backup, or a forgotten transaction';
  end $$`
