import { useState } from "preact/hooks"
import type { NewWebhook, Webhook } from "../../../../src/Schemas/Webhook.ts"
import { call } from "../../Client.ts"
import { useLoad } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { isOwner, workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page } from "../../ui/Page.tsx"
import { Badge } from "../../ui/Status.tsx"
import { Table } from "../../ui/Table.tsx"
import { Age } from "../../ui/Time.tsx"
import { summary } from "./Events.ts"
import { Secret } from "./Secret.tsx"
import { WebhookForm } from "./WebhookForm.tsx"

const lookMillis = 15_000

export const State = ({ webhook }: { readonly webhook: Webhook }) => {
  if (webhook.isActive) {
    return (
      <Badge tone="ok" mark="✓">
        Active
      </Badge>
    )
  }
  return webhook.disabledReason === null ? (
    <Badge tone="idle" mark="○">
      Off
    </Badge>
  ) : (
    <Badge tone="bad" mark="✕">
      Switched off by itself
    </Badge>
  )
}

/** Where the workspace is told of what happens. */
export const WebhookList = () => {
  const workspace = workspaceId()
  const [adds, setAdds] = useState(false)
  const [made, setMade] = useState<NewWebhook>()
  const { data, isLoading, problem, reload } = useLoad(
    workspace,
    (signal) => call((client) => client.webhooks.list({ query: { workspaceId: workspace } }), signal),
    { every: lookMillis }
  )
  return (
    <Page
      title="Webhooks"
      note="They tell other services what happens here, signed."
      actions={
        isOwner.value && (
          <Button kind="primary" onClick={() => setAdds(true)}>
            New webhook
          </Button>
        )
      }
    >
      <ProblemNotice problem={problem} {...(problem?.tag !== "Forbidden" && { onRetry: reload })} />
      {isLoading && <Loading />}
      {data?.data.length === 0 && (
        <Empty title="There are no webhooks yet.">
          <p>
            Make one, and an address of yours is told when runs end, wait for people, or a budget is reached.
          </p>
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && (
        <Table stacks label="Webhooks" columns={["Address", "State", "Events", "Created"]}>
          {data.data.map((webhook) => (
            <tr key={webhook.id}>
              <td>
                <a class="webhooks-address" href={href(["webhooks", webhook.id])}>
                  {webhook.url}
                </a>
                {webhook.description !== null && <span class="muted">{webhook.description}</span>}
              </td>
              <td>
                <State webhook={webhook} />
              </td>
              <td>{summary(webhook.events)}</td>
              <td>
                <Age at={webhook.createdAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {adds && (
        <WebhookForm
          webhook={undefined}
          onClose={() => setAdds(false)}
          onSaved={(webhook) => {
            setMade(webhook)
            reload()
          }}
        />
      )}
      {made !== undefined && (
        <Secret
          secret={made.secret}
          onClose={() => {
            setMade(undefined)
            go(href(["webhooks", made.id]))
          }}
        />
      )}
    </Page>
  )
}
