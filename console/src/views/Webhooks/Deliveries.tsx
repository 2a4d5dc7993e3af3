import type { WebhookDeliveryId, WebhookId } from "../../../../src/Schemas/Ids.ts"
import { type WebhookDelivery, WebhookDeliveryStatus } from "../../../../src/Schemas/WebhookDelivery.ts"
import { call, newKey } from "../../Client.ts"
import { duration } from "../../Format.ts"
import { useAction } from "../../Load.ts"
import { route, setQuery } from "../../Router.ts"
import { Button } from "../../ui/Button.tsx"
import { Select } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading } from "../../ui/Page.tsx"
import { Badge, type Tone } from "../../ui/Status.tsx"
import { Table } from "../../ui/Table.tsx"
import { Age } from "../../ui/Time.tsx"
import { usePages } from "../../usePages.ts"

const lookMillis = 3_000

const states: Record<
  WebhookDeliveryStatus,
  { readonly word: string; readonly mark: string; readonly tone: Tone }
> = {
  pending: { word: "Pending", mark: "○", tone: "run" },
  delivered: { word: "Delivered", mark: "✓", tone: "ok" },
  failed: { word: "Failed", mark: "✕", tone: "bad" }
}

const Last = ({ delivery }: { readonly delivery: WebhookDelivery }) => {
  const { lastAttempt } = delivery
  if (lastAttempt === null) return <span class="muted">Not tried yet</span>
  const { at, durationMs, error, statusCode } = lastAttempt
  return (
    <>
      {statusCode !== null && <code>{statusCode}</code>} in {duration(durationMs)}, <Age at={at} />
      {error !== null && <span class="webhooks-error">{error}</span>}
    </>
  )
}

const Row = ({ delivery, onSent }: { readonly delivery: WebhookDelivery; readonly onSent: () => void }) => {
  const redeliver = useAction(async () => {
    await call((client) => client.webhooks.redeliver({ params: { id: delivery.id } }), undefined, newKey())
    onSent()
  })
  const { mark, tone, word } = states[delivery.status]
  return (
    <tr>
      <td>
        <code>{delivery.type}</code>
      </td>
      <td>
        <Badge tone={tone} mark={mark}>
          {word}
        </Badge>
      </td>
      <td class="number" data-label="Attempts">
        {delivery.attempts}
      </td>
      <td>
        <Last delivery={delivery} />
      </td>
      <td data-label="Next">
        <Age at={delivery.nextAttemptAt} />
      </td>
      <td data-label="Created">
        <Age at={delivery.createdAt} />
      </td>
      <td>
        <Button isBusy={redeliver.isBusy} onClick={() => redeliver.run()}>
          Redeliver
        </Button>
        <ProblemNotice problem={redeliver.problem} />
      </td>
    </tr>
  )
}

/** What was sent to a webhook and what came of it, the newest first; the first page is kept up to date. */
export const Deliveries = ({ id, stamp }: { readonly id: WebhookId; readonly stamp: number }) => {
  const asked = route.value.query.get("status")
  const status = WebhookDeliveryStatus.literals.find((each) => each === asked)
  const { data, isLoading, more, problem, reload } = usePages<WebhookDelivery>(
    `${id} ${status ?? ""} ${stamp}`,
    async ({ after, limit }, signal) => {
      const query = { limit, ...(status && { status }), ...(after && { after: after as WebhookDeliveryId }) }
      const { data } = await call((client) => client.webhooks.deliveries({ params: { id }, query }), signal)
      return { data, nextAfter: data.length < limit ? null : (data.at(-1)?.id ?? null) }
    },
    { every: lookMillis }
  )
  const rows = data?.rows ?? []
  return (
    <div class="stack">
      <Select
        label="State"
        value={status ?? ""}
        choices={[
          { value: "", label: "Any" },
          ...WebhookDeliveryStatus.literals.map((value) => ({ value, label: states[value].word }))
        ]}
        onChoice={(value) => setQuery({ status: value })}
      />
      <ProblemNotice problem={problem} onRetry={reload} />
      {isLoading && <Loading />}
      {data !== undefined && rows.length === 0 && (
        <Empty title={status === undefined ? "Nothing was sent yet." : "There are none in this state."} />
      )}
      {rows.length > 0 && (
        <Table
          stacks
          label="Deliveries"
          columns={["Event", "State", "Attempts", "Last attempt", "Next", "Created", ""]}
        >
          {rows.map((delivery) => (
            <Row key={delivery.id} delivery={delivery} onSent={reload} />
          ))}
        </Table>
      )}
      {data?.hasMore === true && <Button onClick={more}>Load more</Button>}
    </div>
  )
}
