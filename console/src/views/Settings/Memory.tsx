import { useState } from "preact/hooks"
import type { MemoryEntryId } from "../../../../src/Schemas/Ids.ts"
import type { MemoryEntry } from "../../../../src/Schemas/MemoryEntry.ts"
import { call, newKey } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { TextArea, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Section } from "../../ui/Page.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { Table } from "../../ui/Table.tsx"
import { LongText } from "../../ui/Text.tsx"
import { Age } from "../../ui/Time.tsx"
import { usePages } from "../../usePages.ts"
import { useSettled } from "../../useSettled.ts"

const Writing = ({ onWritten }: { readonly onWritten: () => void }) => {
  const [key, setKey] = useState("")
  const [value, setValue] = useState("")
  const write = useAction(async () => {
    const payload = { workspaceId: workspaceId(), key, value }
    await call((client) => client.memory.upsert({ payload }), undefined, newKey())
    setKey("")
    setValue("")
    onWritten()
  })
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault()
        write.run()
      }}
    >
      <TextField
        label="Key"
        name="key"
        required
        hint="One that is there already gets the new value."
        problem={write.problem}
        value={key}
        onText={setKey}
      />
      <TextArea label="Value" name="value" rows={2} problem={write.problem} value={value} onText={setValue} />
      {isOfForm(write.problem, ["key", "value"]) && <ProblemNotice problem={write.problem} />}
      <div class="row">
        <Button type="submit" isBusy={write.isBusy} disabled={key.trim() === ""}>
          Remember it
        </Button>
      </div>
    </form>
  )
}

/** What agents have been told to remember in this workspace. */
export const Memory = () => {
  const workspace = workspaceId()
  const [category, setCategory] = useState("")
  const [key, setKey] = useState("")
  const [leaving, setLeaving] = useState<MemoryEntry>()
  const [inCategory, ofKey] = [useSettled(category.trim()), useSettled(key.trim())]
  const { data, isLoading, more, problem, reload } = usePages<MemoryEntry>(
    JSON.stringify([workspace, inCategory, ofKey]),
    ({ after, limit }, signal) => {
      const query = {
        workspaceId: workspace,
        limit,
        ...(inCategory !== "" && { category: inCategory }),
        ...(ofKey !== "" && { key: ofKey }),
        ...(after !== undefined && { after: after as MemoryEntryId })
      }
      return call((client) => client.memory.list({ query }), signal)
    }
  )
  const entries = data?.rows ?? []
  const remove = useAction(async () => {
    if (leaving === undefined) return
    await call((client) => client.memory.remove({ params: { id: leaving.id } }))
    reload()
  })
  return (
    <Section title="Memory">
      <div class="stack">
        <div class="settings-line">
          <TextField label="Category" type="search" value={category} onText={setCategory} />
          <TextField label="Key" type="search" value={key} onText={setKey} />
        </div>
        <ProblemNotice problem={problem} onRetry={reload} />
        {isLoading && <Loading rows={3} />}
        {data !== undefined && entries.length === 0 && (
          <Empty title="Nothing is remembered here.">
            <p>Agents write with their tool `remember`, and people below.</p>
          </Empty>
        )}
        {entries.length > 0 && (
          <Table stacks label="Memory" columns={["Key", "Value", "Category", "Updated", ""]}>
            {entries.map((entry) => (
              <tr key={entry.id}>
                <td class="settings-key">{entry.key}</td>
                <td>
                  <LongText text={entry.value} folded={300} label={`Value of ${entry.key}`} />
                </td>
                <td>{entry.category}</td>
                <td>
                  <Age at={entry.updatedAt} />
                </td>
                <td>
                  <Button kind="danger" onClick={() => setLeaving(entry)}>
                    Delete<span class="visually-hidden"> {entry.key}</span>
                  </Button>
                </td>
              </tr>
            ))}
          </Table>
        )}
        {data?.hasMore === true && <Button onClick={more}>Load more</Button>}
        <Writing onWritten={reload} />
      </div>
      {leaving !== undefined && (
        <Confirm
          title={`Forget ${leaving.key}?`}
          deed="Forget"
          problem={remove.problem}
          onConfirm={() => remove.run()}
          onClose={() => setLeaving(undefined)}
        >
          <p>No agent finds it any more. This can't be undone.</p>
        </Confirm>
      )}
    </Section>
  )
}
