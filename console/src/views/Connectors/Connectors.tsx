import { Page } from "../../ui/Page.tsx"

const Connectors = () => <Page title="Connectors">{null}</Page>

export default Connectors
