import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { hasSealed, sealedField } from "../../../Schemas/ConnectorSecrets.ts"
import type { SealedSample } from "../../../Schemas/SealedSample.ts"
import type { Place } from "../../../Schemas/Secrets.ts"
import { SealedRepo } from "../../../Services/SealedRepo.ts"
import { pageOf } from "./Order.ts"
import { Store, type Tables } from "./Store.ts"

/** The texts of a kind by the ids of their rows. */
const endsOf = (
  kind: SealedSample["kind"],
  texts: ReadonlyArray<readonly [id: string, sealed: unknown]>
): ReadonlyArray<SealedSample> => {
  const sealed = texts
    .flatMap(([id, text]) => (typeof text === "string" ? [[id, text] as const] : []))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, text]) => text)
  return [
    ...sealed.slice(0, 1).map((text) => ({ kind, sealed: text, newest: false })),
    ...sealed.slice(-1).map((text) => ({ kind, sealed: text, newest: true }))
  ]
}

const secretFields = {
  webhookSecret: "sealedSecret",
  previousWebhookSecret: "previousSealedSecret"
} as const

/** Where secrets are in the tables. */
const textsIn = ({ connectors, providerKeys, webhooks }: Tables) => {
  const storedAt = (place: Place): ReadonlyArray<{ readonly id: string; readonly sealed: unknown }> => {
    switch (place) {
      case "apiKey":
        return Array.from(providerKeys.values(), ({ id, sealedApiKey }) => ({ id, sealed: sealedApiKey }))
      case "webhookSecret":
      case "previousWebhookSecret":
        return Array.from(webhooks.values(), (webhook) => ({
          id: webhook.id,
          sealed: webhook[secretFields[place]]
        }))
      default:
        return Array.from(connectors.values(), ({ id, metadata, sealedCredential }) => ({
          id,
          sealed:
            place === "credential" ? sealedCredential : metadata[place === "headers" ? place : sealedField]
        }))
    }
  }
  const textsOf = (place: Place) =>
    storedAt(place).flatMap(({ id, sealed }) => (typeof sealed === "string" ? [{ id, sealed }] : []))
  const write = (place: Place, id: string, to: string) => {
    const key = providerKeys.get(id)
    const connector = connectors.get(id)
    const webhook = webhooks.get(id)
    if (webhook !== undefined && (place === "webhookSecret" || place === "previousWebhookSecret")) {
      webhooks.set(id, { ...webhook, [secretFields[place]]: to })
    }
    if (place === "apiKey" && key !== undefined) providerKeys.set(id, { ...key, sealedApiKey: to })
    if (place === "credential" && connector !== undefined) {
      connectors.set(id, { ...connector, sealedCredential: to })
    }
    if ((place === "headers" || place === "metadata") && connector !== undefined) {
      const member = place === "headers" ? place : sealedField
      connectors.set(id, { ...connector, metadata: { ...connector.metadata, [member]: to } })
    }
  }
  return { textsOf, write }
}

export const layer = Layer.effect(
  SealedRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { connectors, providerKeys, webhooks } = tables
    const { textsOf, write } = textsIn(tables)
    return guard(
      SealedRepo.of({
        page: ({ place, ...range }) => Effect.sync(() => pageOf(textsOf(place), range)),
        replace: ({ from, id, place, to }) =>
          Effect.sync(() => {
            if (!textsOf(place).some((text) => text.id === id && text.sealed === from)) return false
            write(place, id, to)
            return true
          }),
        metadata: (range) =>
          Effect.sync(() =>
            pageOf(
              Array.from(connectors.values())
                .filter(({ metadata }) => Object.keys(metadata).length > 0)
                .map(({ id, metadata }) => ({ id: id as string, metadata: JSON.stringify(metadata) })),
              range
            )
          ),
        replaceMetadata: ({ id, metadata, to }) =>
          Effect.sync(() => {
            const connector = connectors.get(id)
            if (connector === undefined || JSON.stringify(connector.metadata) !== metadata) return false
            const changed = { ...connector, metadata: to }
            connectors.set(id, { ...changed, hasCredential: hasSealed(changed) })
            return true
          }),
        samples: Effect.sync(() => {
          const stored = Array.from(connectors.values())
          return [
            ...endsOf(
              "provider key",
              Array.from(providerKeys.values(), ({ id, sealedApiKey }) => [id, sealedApiKey])
            ),
            ...endsOf(
              "connector",
              stored.map(({ id, sealedCredential }) => [id, sealedCredential])
            ),
            ...endsOf(
              "connector",
              stored.map(({ id, metadata }) => [id, metadata.headers])
            ),
            ...endsOf(
              "connector",
              stored.map(({ id, metadata }) => [id, metadata[sealedField]])
            ),
            ...endsOf(
              "webhook",
              Array.from(webhooks.values(), ({ id, sealedSecret }) => [id, sealedSecret])
            )
          ]
        })
      })
    )
  })
)
