import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import * as SchemaCheck from "../../src/Layers/Tools/SchemaCheck.ts"
import * as Tools from "../../src/Layers/Tools.ts"
import type { StoredConnector } from "../../src/Schemas/Connector.ts"
import { toHealth } from "../../src/Schemas/ConnectorHealth.ts"
import { type ConnectorId, RunId, type WorkspaceId } from "../../src/Schemas/Ids.ts"
import { AddressRefused } from "../../src/Schemas/Outbound.ts"
import * as AuditLog from "../../src/Services/AuditLog.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import * as ConnectorReports from "../../src/Services/ConnectorReports.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { Outbound } from "../../src/Services/Outbound.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { ToolSource } from "../../src/Services/ToolSource.ts"
import { makeConnector } from "../contract/ConnectorRepo.ts"
import { makeWorkspace, newId } from "./Fixtures.ts"
import { type Asked, handled, startScripted } from "./Mcp.ts"
import { postBy } from "./Posts.ts"

/** Connects to every address but one. */
const guarded: typeof fetch = (input, init) =>
  String(input).includes("refused.test")
    ? Promise.reject(
        new TypeError("fetch failed", {
          cause: new AddressRefused({ error: "metadata.url: the address is private" })
        })
      )
    : fetch(input, init)

/** The tools of connectors over what is kept in memory. */
export const layer = Tools.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(ConnectorReports.layer, AuditLog.layerNotes, Tools.layerSchemaCheck)),
  Layer.provideMerge(Repo.layerMemory),
  Layer.provideMerge(
    Layer.mergeAll(
      Layer.succeed(Settings, Settings.defaults),
      Layer.succeed(SchemaCheck.LimitsMillis, [60_000]),
      Layer.succeed(Outbound, { guarded, post: postBy(guarded), trusted: fetch }),
      Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] }),
      Ids.layer
    )
  )
)

/** A connector called `docs` to this address, in a new workspace if none is given, with this credential. */
export const connect = Effect.fnUntraced(function* (
  url: string,
  { credential, ...given }: Partial<StoredConnector> & { readonly credential?: string } = {}
) {
  const id = yield* newId<ConnectorId>("connector")
  const secret = Redacted.make(JSON.stringify(credential ?? ""))
  const sealed = credential === undefined ? null : yield* (yield* SecretBox).seal(id, secret)
  return yield* makeConnector(given.workspaceId ?? (yield* makeWorkspace), {
    id,
    providerName: "docs",
    metadata: { url },
    hasCredential: sealed !== null,
    sealedCredential: sealed,
    ...given
  })
})

export const statusOf = (id: ConnectorId) =>
  Effect.flatMap(ConnectorRepo, (repo) =>
    Effect.map(repo.find(id), (found) => Option.getOrThrow(found).status)
  )

export const health = ({ id }: StoredConnector) =>
  Effect.gen(function* () {
    const repo = yield* ConnectorRepo
    const found = Option.getOrThrow(yield* repo.find(id))
    return toHealth(found, Option.getOrUndefined(yield* repo.health(id)))
  })

export const check = (connector: StoredConnector) =>
  Effect.andThen(
    ToolSource.use((tools) => tools.check(connector)),
    health(connector)
  )

/** What a run in this workspace and no project is shown of tools of connectors. */
export const shownIn = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const scope = { id: RunId.make("run_1"), workspaceId, projectId: null, connectorIds: null, policy: null }
  const { tools } = yield* (yield* ToolSource).tools(scope)
  return tools.flatMap(({ binding, definition }) => (binding === null ? [] : [definition]))
})

/** A server that answers with this status, and this text if it is one. */
export const answering = (status: number, text?: string, type = "text/plain") =>
  startScripted({
    answer: ({ response }: Asked) => {
      response.writeHead(status, { "content-type": type }).end(text)
      return handled
    }
  })
