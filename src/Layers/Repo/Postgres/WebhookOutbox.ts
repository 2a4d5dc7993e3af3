import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { idOf } from "../../../Schemas/Ids.ts"
import { testType } from "../../../Schemas/WebhookEvent.ts"
import { Signals } from "../../../Services/Signals.ts"
import { WebhookOutbox } from "../../../Services/WebhookOutbox.ts"
import { Database } from "./Database.ts"
import { layer as layerSignals } from "./Signals.ts"
import { make as makeClaim } from "./WebhookOutbox/Claim.ts"
import { make as makeLook } from "./WebhookOutbox/Look.ts"
import { deliveryColumns, deliveryRows, toDelivery } from "./WebhookOutbox/Rows.ts"
import { make as makeSettle } from "./WebhookOutbox/Settle.ts"

export const layer = Layer.effect(
  WebhookOutbox,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, sql } = database
    const signals = yield* Signals
    const random = yield* SecureRandom.SecureRandom

    /** Told to whoever sends, if something is to be sent. */
    const told = <E, R>(due: Effect.Effect<Parameters<typeof toDelivery>[0] | undefined, E, R>) =>
      due.pipe(
        Effect.map((row) => Option.map(Option.fromUndefinedOr(row), toDelivery)),
        Effect.tap((made) => (Option.isSome(made) ? signals.publish({ type: "webhooks" }) : Effect.void))
      )

    return WebhookOutbox.of({
      ...makeClaim(database),
      ...makeSettle(database),
      ...makeLook(database),
      redeliver: (id) =>
        change((audit) =>
          deliveryRows(sql`
            with changed as (
              update webhook_deliveries d
              set status = 'pending', attempts = 0,
                leased_until = case when d.leased_until > clock_timestamp() then d.leased_until end,
                next_at = case when d.leased_until > clock_timestamp() then d.leased_until else clock_timestamp() end
              from webhooks w
              where d.id = ${id} and w.id = d.webhook_id and w.deleted_at is null
              returning d.*
            ), woken as (
              insert into webhook_wakes
              select q.webhook_id from changed join webhook_queues q on q.webhook_id = changed.webhook_id
            )${audit.of("changed")}
            select ${deliveryColumns} from changed d join webhook_events e on e.id = d.event_id`)
        ).pipe(
          Effect.map(([row]) => row),
          told
        ),
      test: (id, at) =>
        Effect.gen(function* () {
          const eventId = idOf("webhookEvent", yield* random.ulid)
          const deliveryId = idOf("webhookDelivery", yield* random.ulid)
          const [row] = yield* change((audit) =>
            deliveryRows(sql`
              with hook as materialized (
                select id, workspace_id from webhooks where id = ${id} and is_active and deleted_at is null for key share
              ), made as (
                insert into webhook_events (id, workspace_id, type, at, facts)
                select ${eventId}, workspace_id, ${testType}, ${at}::timestamptz, '{}' from hook
                returning *
              ), changed as (
                insert into webhook_deliveries (id, event_id, webhook_id, next_at, created_at)
                select ${deliveryId}, ${eventId}, id, clock_timestamp(), ${at}::timestamptz from hook
                returning *
              )${audit.of("changed")}
              select ${deliveryColumns} from changed d, made e`)
          )
          return row
        }).pipe(told)
    })
  })
).pipe(Layer.provide(layerSignals), Layer.provide(SecureRandom.layerWebCrypto))
