import { Page } from "../../ui/Page.tsx"

const Approvals = () => <Page title="Approvals">{null}</Page>

export default Approvals
