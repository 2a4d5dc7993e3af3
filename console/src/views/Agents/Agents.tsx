import { Page } from "../../ui/Page.tsx"

const Agents = () => <Page title="Agents">{null}</Page>

export default Agents
