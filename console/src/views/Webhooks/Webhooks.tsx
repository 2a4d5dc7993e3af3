import { Page } from "../../ui/Page.tsx"

const Webhooks = () => <Page title="Webhooks">{null}</Page>

export default Webhooks
