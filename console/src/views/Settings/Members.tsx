import { useState } from "preact/hooks"
import { type Member, Role } from "../../../../src/Schemas/Workspace.ts"
import { call, newKey } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { isOwner, loadWorkspaces, workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Select, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Loading, Section } from "../../ui/Page.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { Badge } from "../../ui/Status.tsx"
import { Table } from "../../ui/Table.tsx"
import { Age } from "../../ui/Time.tsx"

const Adding = ({ onAdded }: { readonly onAdded: () => void }) => {
  const [email, setEmail] = useState("")
  const [role, setRole] = useState<Role>("member")
  const add = useAction(async () => {
    const params = { id: workspaceId() }
    const payload = { email: email.trim(), role }
    await call((client) => client.workspaces.addMember({ params, payload }), undefined, newKey())
    setEmail("")
    onAdded()
  })
  return (
    <form
      class="settings-line"
      onSubmit={(event) => {
        event.preventDefault()
        add.run()
      }}
    >
      <TextField
        label="E-mail of the new member"
        name="email"
        type="email"
        required
        problem={add.problem}
        value={email}
        onText={setEmail}
      />
      <Select
        label="Role"
        value={role}
        choices={Role.literals.map((value) => ({ value, label: value }))}
        onChoice={(value) => setRole(value === "owner" ? "owner" : "member")}
      />
      <Button type="submit" isBusy={add.isBusy} disabled={email.trim() === ""}>
        Add member
      </Button>
      {isOfForm(add.problem, ["email"]) && <ProblemNotice problem={add.problem} />}
    </form>
  )
}

const Removal = ({
  isSelf,
  member,
  onClose,
  onGone
}: {
  readonly member: Member
  readonly isSelf: boolean
  readonly onGone: () => Promise<void>
  readonly onClose: () => void
}) => {
  const remove = useAction(async () => {
    await call((client) =>
      client.workspaces.removeMember({ params: { id: workspaceId(), userId: member.userId } })
    )
    await onGone()
  })
  return (
    <Confirm
      title={isSelf ? "Leave this workspace?" : `Remove ${member.email}?`}
      deed={isSelf ? "Leave" : "Remove"}
      problem={remove.problem}
      onConfirm={() => remove.run()}
      onClose={onClose}
    >
      <p>
        {isSelf ? "You see nothing of it any more" : "They see nothing of it any more, at once"}, and
        schedules that {isSelf ? "you answer" : "they answer"} for are switched off.
      </p>
    </Confirm>
  )
}

/** Who is in the workspace; owners add and remove. */
export const Members = () => {
  const workspace = workspaceId()
  const [leaving, setLeaving] = useState<Member>()
  const { data, isLoading, problem, reload } = useLoad(workspace, async (signal) => {
    const [members, session] = await Promise.all([
      call((client) => client.workspaces.members({ params: { id: workspace } }), signal),
      call((client) => client.session.get(), signal)
    ])
    return { members: members.data, self: session.data.userId }
  })
  return (
    <Section title="Members">
      <div class="stack">
        <ProblemNotice problem={problem} onRetry={reload} />
        {isLoading && <Loading rows={2} />}
        {data !== undefined && (
          <Table stacks label="Members" columns={["E-mail", "Role", "Joined", ""]}>
            {data.members.map((member) => {
              const isSelf = member.userId === data.self
              return (
                <tr key={member.userId}>
                  <td>
                    {member.email} {isSelf && <span class="muted">(you)</span>}
                  </td>
                  <td>
                    {member.role} {member.isPending && <Badge tone="wait">invited</Badge>}
                  </td>
                  <td>
                    <Age at={member.createdAt} />
                  </td>
                  <td>
                    {(isSelf || isOwner.value) && (
                      <Button kind="danger" onClick={() => setLeaving(member)}>
                        {isSelf ? "Leave" : "Remove"}
                        {!isSelf && <span class="visually-hidden"> {member.email}</span>}
                      </Button>
                    )}
                  </td>
                </tr>
              )
            })}
          </Table>
        )}
        {isOwner.value ? <Adding onAdded={reload} /> : <p class="muted">Owners add and remove members.</p>}
      </div>
      {leaving !== undefined && (
        <Removal
          member={leaving}
          isSelf={leaving.userId === data?.self}
          onClose={() => setLeaving(undefined)}
          onGone={async () => {
            if (leaving.userId === data?.self) await loadWorkspaces()
            else reload()
          }}
        />
      )}
    </Section>
  )
}
