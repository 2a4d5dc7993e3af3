/**
 * Who was added to a workspace and has not been there yet, by e-mail, whether or not there is such a user. A member that
 * was one keeps the id under which it was shown until then.
 */
export const statements = [
  `create table workspace_invitations (
    workspace_id text not null references workspaces on delete cascade,
    email text not null,
    id text not null,
    role text not null check (role in ('owner', 'member')),
    created_at timestamptz not null,
    primary key (workspace_id, email)
  )`,
  `create index workspace_invitations_of_email on workspace_invitations (email)`,
  `alter table workspace_members add column invitation_id text`
]
