import { useState } from "preact/hooks"
import type { Approval } from "../../../src/Schemas/Approval.ts"
import { call, newKey } from "../Client.ts"
import { useAction } from "../Load.ts"
import { Button } from "./Button.tsx"
import { TextField } from "./Field.tsx"
import { ProblemNotice } from "./Notice.tsx"
import { Facts } from "./Page.tsx"
import { isOfForm } from "./Problems.ts"
import { Json } from "./Text.tsx"
import { Age } from "./Time.tsx"

interface Props {
  readonly approval: Approval
  /** Called when it was decided here. */
  readonly onDecided: () => void
}

/** A tool call that waits for somebody: what exactly would be called where, and the decision. */
export const ApprovalCard = ({ approval, onDecided }: Props) => {
  const [reason, setReason] = useState("")
  const decide = useAction(async (decision: "approve" | "reject") => {
    const payload = { decision, ...(reason.trim() !== "" && { reason: reason.trim() }) }
    await call(
      (client) => client.approvals.decide({ params: { id: approval.id }, payload }),
      undefined,
      newKey()
    )
    onDecided()
  })
  const { address, connector, description, expiresAt, tool } = approval
  return (
    <article class="approval-card panel stack" aria-label={`Approval of ${tool}`}>
      <h3>
        May it call <code>{tool}</code>?
      </h3>
      {description !== null && description !== "" && <p class="muted">{description}</p>}
      <Facts
        facts={[
          ["Connector", connector === null ? "Built in" : connector.name],
          ...(address === null ? [] : [["Address", <code key="address">{address}</code>] as const]),
          ["Ends undecided", <Age key="expires" at={expiresAt} />]
        ]}
      />
      <Json value={approval.arguments} label={`Arguments of ${tool}`} />
      <TextField
        label="Reason, told to the model if it is rejected"
        name="reason"
        value={reason}
        problem={decide.problem}
        onText={setReason}
      />
      {isOfForm(decide.problem, ["reason"]) && <ProblemNotice problem={decide.problem} />}
      <div class="row">
        <Button kind="primary" isBusy={decide.isBusy} onClick={() => decide.run("approve")}>
          Approve
        </Button>
        <Button kind="danger" isBusy={decide.isBusy} onClick={() => decide.run("reject")}>
          Reject
        </Button>
      </div>
    </article>
  )
}
