import { Page } from "../../ui/Page.tsx"

const Usage = () => <Page title="Usage">{null}</Page>

export default Usage
