import { useState } from "preact/hooks"
import { call } from "../../Client.ts"
import { useLoad } from "../../Load.ts"
import { href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { ApprovalCard } from "../../ui/ApprovalCard.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"

const mostLooked = 100

/** The approval that an answer waits for, to be decided in place. */
export const Pending = ({ approvalId }: { readonly approvalId: string }) => {
  const [said, setSaid] = useState<string>()
  const workspace = workspaceId()
  const { data, problem, reload } = useLoad(approvalId, (signal) =>
    call(
      (client) => client.approvals.list({ query: { workspaceId: workspace, limit: mostLooked, offset: 0 } }),
      signal
    )
  )
  const approval = data?.data.find(({ id }) => id === approvalId)
  if (said !== undefined) return <p class="muted">{said}. It goes on.</p>
  if (problem !== undefined) return <ProblemNotice problem={problem} onRetry={reload} />
  if (data === undefined) return null
  if (approval !== undefined) return <ApprovalCard approval={approval} onDecided={setSaid} />
  return (
    <p class="muted">
      It waits for a decision: see <a href={href(["approvals"])}>Approvals</a>.
    </p>
  )
}
