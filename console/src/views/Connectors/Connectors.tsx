import type { ConnectorId } from "../../../../src/Schemas/Ids.ts"
import { route } from "../../Router.ts"
import { ConnectorList } from "./ConnectorList.tsx"
import { ConnectorPage } from "./ConnectorPage.tsx"
import "./Connectors.css"

/** The connectors of the workspace, or one of them. */
const Connectors = () => {
  const id = route.value.path[1] as ConnectorId | undefined
  return id === undefined ? <ConnectorList /> : <ConnectorPage key={id} id={id} />
}

export default Connectors
