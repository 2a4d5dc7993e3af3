import type { AuditEntry } from "../../../../src/Schemas/Audit.ts"
import type { Member } from "../../../../src/Schemas/Workspace.ts"
import { call } from "../../Client.ts"
import { useLoad } from "../../Load.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Section } from "../../ui/Page.tsx"
import { Table } from "../../ui/Table.tsx"
import { Moment } from "../../ui/Time.tsx"
import { usePages } from "../../usePages.ts"
import { addressOf } from "./Target.ts"

const actorOf = ({ actor }: AuditEntry, members: ReadonlyArray<Member>): string => {
  if ("userId" in actor) return members.find(({ userId }) => userId === actor.userId)?.email ?? actor.userId
  return "cronJobId" in actor ? `schedule ${actor.cronJobId}` : actor.system
}

const Target = ({ id }: { readonly id: string | null }) => {
  if (id === null) return <span class="muted">–</span>
  const to = addressOf(id)
  return to === undefined ? (
    <code>{id}</code>
  ) : (
    <a href={to}>
      <code>{id}</code>
    </a>
  )
}

/** Who did what to what, and when, the newest first. */
export const Audit = () => {
  const workspace = workspaceId()
  const { data: members } = useLoad(workspace, (signal) =>
    call((client) => client.workspaces.members({ params: { id: workspace } }), signal)
  )
  const { data, isLoading, more, problem, reload } = usePages<AuditEntry>(
    workspace,
    async ({ after, limit }, signal) => {
      const query = {
        workspaceId: workspace,
        limit,
        ...(after !== undefined && { after: after as AuditEntry["id"] })
      }
      const { data } = await call((client) => client.audit.list({ query }), signal)
      return { data, nextAfter: data.length < limit ? null : (data.at(-1)?.id ?? null) }
    }
  )
  const entries = data?.rows ?? []
  return (
    <Section
      title="Audit"
      actions={
        <Button kind="quiet" onClick={reload}>
          Refresh
        </Button>
      }
    >
      <div class="stack">
        <ProblemNotice problem={problem} onRetry={reload} />
        {isLoading && <Loading rows={6} />}
        {data !== undefined && entries.length === 0 && <Empty title="Nothing was done yet." />}
        {entries.length > 0 && (
          <Table stacks label="Audit entries" columns={["Time", "Actor", "Action", "Target", "Address"]}>
            {entries.map((entry) => (
              <tr key={entry.id}>
                <td class="settings-when">
                  <Moment at={entry.at} />
                </td>
                <td>{actorOf(entry, members?.data ?? [])}</td>
                <td>
                  <code>{entry.action}</code>
                </td>
                <td>
                  <Target id={entry.targetId} />
                </td>
                <td>{entry.address ?? <span class="muted">–</span>}</td>
              </tr>
            ))}
          </Table>
        )}
        {data?.hasMore === true && <Button onClick={more}>Load more</Button>}
      </div>
    </Section>
  )
}
