import type { Connector } from "../../../src/Schemas/Connector.ts"
import { nameOfConnector } from "../../../src/Schemas/Connector.ts"
import { call, toProblem } from "../Client.ts"
import { useLoad } from "../Load.ts"
import { workspaceId } from "../Session.ts"
import { builtinTools, type KnownTool } from "./PolicyDraft.ts"

const mostConnectors = 1_000
/** Of more connectors than that, nobody asks the servers for the sake of a form. */
const mostAsked = 12

export interface Tools {
  readonly connectors: ReadonlyArray<Connector>
  readonly tools: ReadonlyArray<KnownTool>
  /** Connectors whose tools are not known, each with the reason. */
  readonly unknown: ReadonlyArray<string>
}

const nothing: Tools = { connectors: [], tools: builtinTools, unknown: [] }

const toolsOf = async (connector: Connector, signal: AbortSignal) => {
  try {
    const { data } = await call((client) => client.connectors.tools({ params: { id: connector.id } }), signal)
    const tools = data.tools.map(
      ({ name, originalName, readOnly }): KnownTool => ({
        name,
        of: { connector, originalName, readOnly }
      })
    )
    return { tools, unknown: data.error === null ? [] : [nameOfConnector(connector)] }
  } catch (error) {
    return { tools: [], unknown: [`${nameOfConnector(connector)}: ${toProblem(error).message}`] }
  }
}

/** The connectors of the workspace, and the tools that its agents have now. */
export const useTools = () => {
  const workspace = workspaceId()
  const connectors = useLoad(workspace, async (signal) => {
    const query = { workspaceId: workspace, limit: mostConnectors }
    return (await call((client) => client.connectors.list({ query }), signal)).data
  })
  const active = (connectors.data ?? []).filter(({ status }) => status === "ACTIVE")
  const asked = active.slice(0, mostAsked)
  const { data } = useLoad(`${workspace} ${asked.map(({ id }) => id).join(" ")}`, async (signal) => {
    const answers = await Promise.all(asked.map((connector) => toolsOf(connector, signal)))
    return {
      tools: [...builtinTools, ...answers.flatMap(({ tools }) => tools)],
      unknown: [...answers.flatMap(({ unknown }) => unknown), ...active.slice(mostAsked).map(nameOfConnector)]
    }
  })
  const tools: Tools = { ...nothing, ...data, connectors: connectors.data ?? [] }
  return { tools, problem: connectors.problem }
}
