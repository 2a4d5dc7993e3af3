import { useState } from "preact/hooks"
import type { Agent } from "../../../../src/Schemas/Agent.ts"
import { call } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Checkbox } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"

interface Props {
  readonly agent: Agent
  readonly onChange: () => void
}

/** What can be done with an agent. */
export const AgentActions = ({ agent, onChange }: Props) => {
  const { id, isActive, name } = agent
  const [open, setOpen] = useState<"delete" | "off">()
  const turn = useAction(async (isActive: boolean) => {
    await call((client) => client.agents.update({ params: { id }, payload: { isActive } }))
    onChange()
  })
  const remove = useAction(async () => {
    await call((client) => client.agents.remove({ params: { id } }))
    go(href(["agents"]), { replace: true })
  })
  const close = () => {
    turn.clear()
    remove.clear()
    setOpen(undefined)
  }
  return (
    <>
      <Checkbox
        isSwitch
        label={isActive ? "Active" : "Off"}
        checked={isActive}
        disabled={turn.isBusy}
        onCheck={(checked) => (checked ? turn.run(true) : setOpen("off"))}
      />
      <a class="button button-primary" href={href(["chat"], { agentId: id })}>
        Chat
      </a>
      <a class="button" href={href(["runs"], { agentId: id, new: "1" })}>
        New task
      </a>
      <a class="button" href={href(["agents", id, "edit"])}>
        Edit
      </a>
      <Button kind="danger" onClick={() => setOpen("delete")}>
        Delete…
      </Button>
      {open === undefined && turn.problem !== undefined && (
        <div class="agents-said">
          <ProblemNotice problem={turn.problem} />
        </div>
      )}
      {open === "off" && (
        <Confirm
          title={`Switch “${name}” off?`}
          deed="Switch off"
          problem={turn.problem}
          onConfirm={() => turn.run(false)}
          onClose={close}
        >
          <p>
            Tasks and messages for it are refused until it is switched on again, and the slots of its
            schedules make no run. Runs that are under way go on.
          </p>
        </Confirm>
      )}
      {open === "delete" && (
        <Confirm
          title={`Delete “${name}”?`}
          deed="Delete agent"
          typed={name}
          problem={remove.problem}
          onConfirm={() => remove.run()}
          onClose={close}
        >
          <p>
            Its policy goes with it. Its runs, conversations and schedules stay without an agent: the
            schedules go on as the workspace's default would. Runs that are under way go on. It can't be
            undone.
          </p>
        </Confirm>
      )}
    </>
  )
}
