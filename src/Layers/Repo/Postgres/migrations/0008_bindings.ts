/** What people are shown of a call that they decide about; null as arguments is NULL. */
export const statements = [
  `alter table approvals add column connector jsonb`,
  `alter table approvals add column address text`,
  `alter table approvals add column description text`,
  `alter table approvals alter column arguments drop not null`
]
