/** For how long a run had been worked on when a step of it was kept, by all its executions together. */
export const statements = [`alter table run_steps add column worked_millis integer`]
