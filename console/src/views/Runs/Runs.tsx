import { Page } from "../../ui/Page.tsx"

const Runs = () => <Page title="Runs">{null}</Page>

export default Runs
