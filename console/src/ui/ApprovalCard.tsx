import { useMemo, useState } from "preact/hooks"
import type { Approval } from "../../../src/Schemas/Approval.ts"
import { call, newKey, toProblem } from "../Client.ts"
import { useAction } from "../Load.ts"
import { Button } from "./Button.tsx"
import { TextField } from "./Field.tsx"
import { ProblemNotice } from "./Notice.tsx"
import { Facts } from "./Page.tsx"
import { isOfForm } from "./Problems.ts"
import { LongText } from "./Text.tsx"
import { Age } from "./Time.tsx"
import { visible } from "./Visible.ts"

interface Props {
  readonly approval: Approval
  /** Called when it was decided, with a sentence about it: here, or by somebody who was faster. */
  readonly onDecided: (said: string) => void
  /** It has just come to be where another one was: nothing is decided that nobody can have read. */
  readonly isUnread?: boolean
}

/** A tool call that waits for somebody: what exactly would be called where, and the decision. */
export const ApprovalCard = ({ approval, isUnread = false, onDecided }: Props) => {
  const [reason, setReason] = useState("")
  const { address, connector, description, expiresAt, id, tool } = approval
  const name = visible(tool)
  const decide = useAction(async (decision: "approve" | "reject") => {
    const payload = { decision, ...(reason.trim() !== "" && { reason: reason.trim() }) }
    try {
      await call((client) => client.approvals.decide({ params: { id }, payload }), undefined, newKey())
      onDecided(`${decision === "approve" ? "Approved" : "Rejected"}: ${name}`)
    } catch (error) {
      const problem = toProblem(error)
      if (problem.tag !== "ApprovalDecided" && problem.tag !== "NotFound") throw problem
      onDecided(`${name}: ${problem.message}`)
    }
  })
  // The arguments of an approval never change, but each look at the list brings them anew.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const text = useMemo(() => visible(JSON.stringify(approval.arguments, null, 2)), [id])
  return (
    <form
      class="approval-card panel stack"
      tabIndex={-1}
      aria-label={`Approval of ${name}`}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isUnread) decide.run("reject")
      }}
    >
      <h3>
        May it call <code>{name}</code>?
      </h3>
      {description !== null && description !== "" && <LongText text={visible(description)} folded={400} />}
      <Facts
        facts={[
          ["Connector", connector === null ? "Built in" : visible(connector.name)],
          ...(address === null ? [] : [["Address", <code key="address">{visible(address)}</code>] as const]),
          ["Ends undecided", <Age key="expires" at={expiresAt} />]
        ]}
      />
      <LongText text={text} isCode label={`Arguments of ${name} to decide about, ${id}`} />
      <TextField
        label="Reason, told to the model if it is rejected"
        name="reason"
        value={reason}
        problem={decide.problem}
        onText={setReason}
      />
      {isOfForm(decide.problem, ["reason"]) && <ProblemNotice problem={decide.problem} />}
      <div class="row">
        <Button
          kind="primary"
          data-decision="approve"
          isBusy={decide.isBusy}
          disabled={isUnread}
          onClick={() => decide.run("approve")}
        >
          Approve
        </Button>
        <Button kind="danger" isBusy={decide.isBusy} disabled={isUnread} onClick={() => decide.run("reject")}>
          Reject
        </Button>
      </div>
    </form>
  )
}
