import { useState } from "preact/hooks"
import { call } from "../../Client.ts"
import { useAction, useLoad, useOnce } from "../../Load.ts"
import { choose, current, isOwner, loadWorkspaces, workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Id } from "../../ui/Copy.tsx"
import { TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Facts, Loading, Section } from "../../ui/Page.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { Table } from "../../ui/Table.tsx"
import { Age } from "../../ui/Time.tsx"

interface NamingProps {
  readonly label: string
  readonly deed: string
  readonly initial?: string
  readonly onName: (name: string) => Promise<unknown>
}

/** One name and what is done with it; it stays where that did not work. */
const Naming = ({ deed, initial = "", label, onName }: NamingProps) => {
  const [name, setName] = useState(initial)
  const act = useAction(async () => {
    await onName(name)
    if (initial === "") setName("")
  })
  return (
    <form
      class="settings-line"
      onSubmit={(event) => {
        event.preventDefault()
        act.run()
      }}
    >
      <TextField label={label} name="name" required value={name} problem={act.problem} onText={setName} />
      <Button type="submit" isBusy={act.isBusy} disabled={name.trim() === "" || name === initial}>
        {deed}
      </Button>
      {isOfForm(act.problem, ["name"]) && <ProblemNotice problem={act.problem} />}
    </form>
  )
}

const Projects = () => {
  const workspace = workspaceId()
  const once = useOnce()
  const { data, isLoading, problem, reload } = useLoad(workspace, (signal) =>
    call((client) => client.projects.list({ query: { workspaceId: workspace } }), signal)
  )
  return (
    <Section title="Projects">
      <div class="stack">
        <ProblemNotice problem={problem} onRetry={reload} />
        {isLoading && <Loading rows={2} />}
        {data?.data.length === 0 && (
          <p class="muted">None yet. Agents, runs, schedules and memory can be narrowed to one.</p>
        )}
        {data !== undefined && data.data.length > 0 && (
          <Table stacks label="Projects" columns={["Name", "Id", "Created"]}>
            {data.data.map((project) => (
              <tr key={project.id}>
                <td>{project.name}</td>
                <td>
                  <Id id={project.id} />
                </td>
                <td>
                  <Age at={project.createdAt} />
                </td>
              </tr>
            ))}
          </Table>
        )}
        <Naming
          label="New project"
          deed="Create project"
          onName={async (name) => {
            const payload = { workspaceId: workspace, name }
            await once(payload, (key) =>
              call((client) => client.projects.create({ payload }), undefined, key)
            )
            reload()
          }}
        />
      </div>
    </Section>
  )
}

/** The workspace that is looked at, its projects, and how to have another. */
export const Workspace = () => {
  const once = useOnce()
  const { value: workspace } = current
  if (workspace === undefined) return null
  return (
    <>
      <div class="panel stack">
        <Facts
          facts={[
            ["Id", <Id key="id" id={workspace.id} />],
            ["Plan", workspace.plan],
            ["Your role", workspace.role],
            ["Created", <Age key="made" at={workspace.createdAt} />]
          ]}
        />
        {isOwner.value && (
          <Naming
            key={workspace.id}
            label="Name"
            deed="Rename"
            initial={workspace.name}
            onName={async (name) => {
              const params = { id: workspace.id }
              await call((client) => client.workspaces.update({ params, payload: { name } }))
              await loadWorkspaces()
            }}
          />
        )}
      </div>
      <Projects />
      <Section title="Another workspace">
        <Naming
          label="New workspace"
          deed="Create workspace"
          onName={async (name) => {
            const payload = { name }
            const made = await once(payload, async (key) => {
              const { data } = await call((client) => client.workspaces.create({ payload }), undefined, key)
              await loadWorkspaces()
              return data
            })
            choose(made.id)
          }}
        />
      </Section>
    </>
  )
}
