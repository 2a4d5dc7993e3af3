/**
 * Users who may not sign in, and those who are gone: their row stays, without their e-mail, for what names them.
 * Neither rewrites a row.
 */
export const statements = [
  `alter table users add column disabled_at timestamptz`,
  `alter table users add column deleted_at timestamptz`
]
