import { useState } from "preact/hooks"
import type { WebhookId } from "../../../../src/Schemas/Ids.ts"
import { call, newKey } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { Button } from "../../ui/Button.tsx"
import { Id } from "../../ui/Copy.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Checkbox } from "../../ui/Field.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Facts, Loading, Page, Section } from "../../ui/Page.tsx"
import { Age } from "../../ui/Time.tsx"
import { Deliveries } from "./Deliveries.tsx"
import { Secret } from "./Secret.tsx"
import { WebhookForm } from "./WebhookForm.tsx"
import { State } from "./WebhookList.tsx"

const back = { href: href(["webhooks"]), label: "Webhooks" }

const reasons = {
  gone: "Its receiver answered that it is gone (410).",
  failing: "Its receiver took nothing for five days."
} as const

type Asked = "edit" | "remove" | "rotate"

/** A webhook, and what was sent to it. */
export const WebhookPage = ({ id }: { readonly id: WebhookId }) => {
  const [asked, setAsked] = useState<Asked>()
  const [secret, setSecret] = useState<string>()
  const [stamp, setStamp] = useState(0)
  const { data, isLoading, problem, reload } = useLoad(id, (signal) =>
    call((client) => client.webhooks.get({ params: { id } }), signal)
  )
  const close = () => setAsked(undefined)
  const test = useAction(async () => {
    await call((client) => client.webhooks.test({ params: { id } }), undefined, newKey())
    setStamp(stamp + 1)
  })
  const switchTo = useAction(async (isActive: boolean) => {
    await call((client) => client.webhooks.update({ params: { id }, payload: { isActive } }))
    reload()
  })
  const rotate = useAction(async () => {
    const made = await call((client) => client.webhooks.rotateSecret({ params: { id } }), undefined, newKey())
    setSecret(made.data.secret)
  })
  const remove = useAction(async () => {
    await call((client) => client.webhooks.remove({ params: { id } }))
    go(href(["webhooks"]), { replace: true })
  })
  if (data === undefined) {
    return (
      <Page title="Webhook" back={back}>
        {isLoading && <Loading />}
        <ProblemNotice problem={problem} {...(problem?.tag !== "NotFound" && { onRetry: reload })} />
      </Page>
    )
  }
  const webhook = data.data
  return (
    <Page
      title={webhook.url}
      back={back}
      note={<Id id={id} />}
      actions={
        <>
          <Checkbox
            isSwitch
            label="Active"
            checked={webhook.isActive}
            disabled={switchTo.isBusy}
            onCheck={(isOn) => switchTo.run(isOn)}
          />
          <Button isBusy={test.isBusy} onClick={() => test.run()}>
            Send a test
          </Button>
          <Button onClick={() => setAsked("edit")}>Edit</Button>
          <Button onClick={() => setAsked("rotate")}>New secret</Button>
          <Button kind="danger" onClick={() => setAsked("remove")}>
            Delete
          </Button>
        </>
      }
    >
      <div class="stack">
        <ProblemNotice problem={test.problem ?? switchTo.problem ?? problem} />
        {webhook.disabledReason !== null && (
          <Notice kind="bad" title="It was switched off by itself.">
            {reasons[webhook.disabledReason]} Switch it on when the receiver is well again.
          </Notice>
        )}
        <div class="panel">
          <Facts
            facts={[
              ["State", <State key="state" webhook={webhook} />],
              ["Description", webhook.description ?? "None"],
              ["Events", webhook.events.includes("*") ? "All events" : webhook.events.join(", ")],
              ["Created", <Age key="made" at={webhook.createdAt} />],
              ["Updated", <Age key="changed" at={webhook.updatedAt} />]
            ]}
          />
        </div>
      </div>
      <Section title="Deliveries">
        <Deliveries id={id} stamp={stamp} />
      </Section>
      {asked === "edit" && <WebhookForm webhook={webhook} onSaved={reload} onClose={close} />}
      {asked === "rotate" && (
        <Confirm
          title="Make a new secret?"
          deed="Make a new secret"
          problem={rotate.problem}
          onConfirm={() => rotate.run()}
          onClose={close}
        >
          <p>Messages are signed with both for 24 hours, then with the new one alone.</p>
        </Confirm>
      )}
      {asked === "remove" && (
        <Confirm
          title="Delete this webhook?"
          deed="Delete"
          problem={remove.problem}
          onConfirm={() => remove.run()}
          onClose={close}
        >
          <p>{webhook.url} is told of nothing any more, and what was still to be sent is not.</p>
        </Confirm>
      )}
      {secret !== undefined && asked === undefined && (
        <Secret secret={secret} onClose={() => setSecret(undefined)} />
      )}
    </Page>
  )
}
