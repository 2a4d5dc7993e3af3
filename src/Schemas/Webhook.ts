import * as Schema from "effect/Schema"
import { WebhookId, WorkspaceId } from "./Ids.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import { WebhookEventType } from "./WebhookEvent.ts"

/** Why a webhook was switched off by itself: its receiver said so (410), or took nothing for five days. */
export const WebhookDisabledReason = Schema.Literals(["gone", "failing"])
export type WebhookDisabledReason = typeof WebhookDisabledReason.Type

const EventName = Schema.Literals([...WebhookEventType.literals, "*"])

/** CONTRACT.md section 12. The secret is shown at creation and rotation alone. */
export const Webhook = Schema.Struct({
  id: WebhookId,
  workspaceId: WorkspaceId,
  url: Schema.String,
  description: Schema.NullOr(Schema.String),
  /** Of these it is told; `*`: of all. */
  events: Schema.Array(EventName),
  isActive: Schema.Boolean,
  /** When and why it was switched off by itself; both null since an owner has switched it on. */
  disabledAt: Schema.NullOr(Timestamp),
  disabledReason: Schema.NullOr(WebhookDisabledReason),
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "Webhook" })
export type Webhook = typeof Webhook.Type

/** As it is stored: secrets are sealed, each bound to the id of the webhook. */
export const StoredWebhook = Schema.Struct({
  ...Webhook.fields,
  sealedSecret: Schema.String,
  /** It signs beside the other until then. */
  previousSealedSecret: Schema.NullOr(Schema.String),
  previousUntil: Schema.NullOr(Timestamp),
  /** When the first attempt failed behind which none succeeded. */
  failingSince: Schema.NullOr(Timestamp)
})
export type StoredWebhook = typeof StoredWebhook.Type

/** What is secret about an address can be in its path or query: nobody but owners sees it. */
const Url = text(1, 2000).check(
  Schema.makeFilter((value: string) =>
    isUrl(value) ? undefined : "must be an http or https address without a user name or fragment"
  )
)

const isUrl = (value: string): boolean => {
  if (!/^https?:\/\//i.test(value) || value.includes("#") || !URL.canParse(value)) return false
  const { password, username } = new URL(value)
  return username === "" && password === ""
}

/** At least one; one that is named twice counts once. `"*"` alone is `["*"]`. */
const Events = Schema.Union([
  Schema.Array(EventName).check(
    Schema.makeFilter(
      (names: ReadonlyArray<string>) =>
        names.length >= 1 && names.length <= mostNames
          ? undefined
          : `must be 1 to ${mostNames} names of events`,
      { toJsonSchema: () => ({ minItems: 1, maxItems: mostNames }) }
    )
  ),
  Schema.Literal("*")
])

const mostNames = 100

const Description = Schema.NullOr(text(0, 500))

export const CreateWebhook = Schema.Struct({
  workspaceId: WorkspaceId,
  url: Url,
  events: Events,
  description: Schema.optionalKey(Description),
  isActive: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "CreateWebhook" })
export type CreateWebhook = typeof CreateWebhook.Type

/** An absent field stays. */
export const UpdateWebhook = Schema.Struct({
  url: Schema.optionalKey(Url),
  events: Schema.optionalKey(Events),
  description: Schema.optionalKey(Description),
  isActive: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateWebhook" })
export type UpdateWebhook = typeof UpdateWebhook.Type

/** With its secret, which is shown this once. */
export const NewWebhook = Schema.Struct({
  ...Webhook.fields,
  secret: Schema.String.annotate({
    description: "`whsec_` and base64 (Standard Webhooks): shown this once, and stored sealed."
  })
}).annotate({ identifier: "NewWebhook" })
export type NewWebhook = typeof NewWebhook.Type

/** Each name once, in the order in which they were given. */
export const eventsOf = (names: CreateWebhook["events"]): StoredWebhook["events"] =>
  names === "*" ? [names] : Array.from(new Set(names))

export const toWebhook = ({
  failingSince: _failingSince,
  previousSealedSecret: _previousSealedSecret,
  previousUntil: _previousUntil,
  sealedSecret: _sealedSecret,
  ...webhook
}: StoredWebhook): Webhook => webhook

/** 409: what is asked of a webhook needs it switched on. */
export class WebhookInactive extends Schema.TaggedError<WebhookInactive>()("WebhookInactive", {
  error: Schema.String
}) {}
