import { Page } from "../../ui/Page.tsx"

const Models = () => <Page title="Models">{null}</Page>

export default Models
