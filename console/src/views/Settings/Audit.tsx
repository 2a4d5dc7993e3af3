import { useState } from "preact/hooks"
import type { AuditEntry } from "../../../../src/Schemas/Audit.ts"
import type { Member } from "../../../../src/Schemas/Workspace.ts"
import { call } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Section } from "../../ui/Page.tsx"
import { Table } from "../../ui/Table.tsx"
import { Moment } from "../../ui/Time.tsx"
import { addressOf } from "./Target.ts"

const pageSize = 50

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
  const [older, setOlder] = useState<ReadonlyArray<AuditEntry>>([])
  const [isLast, setLast] = useState(false)
  const page = (after?: AuditEntry["id"], signal?: AbortSignal) => {
    const query = { workspaceId: workspace, limit: pageSize, ...(after !== undefined && { after }) }
    return call((client) => client.audit.list({ query }), signal)
  }
  const { data, isLoading, problem, reload } = useLoad(workspace, async (signal) => {
    const [entries, members] = await Promise.all([
      page(undefined, signal),
      call((client) => client.workspaces.members({ params: { id: workspace } }), signal)
    ])
    setOlder([])
    setLast(entries.data.length < pageSize)
    return { entries: entries.data, members: members.data }
  })
  const entries = [...(data?.entries ?? []), ...older]
  const more = useAction(async () => {
    const next = await page(entries.at(-1)?.id)
    setOlder([...older, ...next.data])
    setLast(next.data.length < pageSize)
  })
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
        <ProblemNotice problem={problem ?? more.problem} onRetry={reload} />
        {isLoading && <Loading rows={6} />}
        {data !== undefined && entries.length === 0 && <Empty title="Nothing was done yet." />}
        {entries.length > 0 && (
          <Table stacks label="Audit entries" columns={["Time", "Actor", "Action", "Target", "Address"]}>
            {entries.map((entry) => (
              <tr key={entry.id}>
                <td class="settings-when">
                  <Moment at={entry.at} />
                </td>
                <td>{actorOf(entry, data?.members ?? [])}</td>
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
        {entries.length > 0 && !isLast && (
          <Button kind="quiet" isBusy={more.isBusy} onClick={() => more.run()}>
            Show older
          </Button>
        )}
      </div>
    </Section>
  )
}
