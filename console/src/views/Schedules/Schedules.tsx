import { Page } from "../../ui/Page.tsx"

const Schedules = () => <Page title="Schedules">{null}</Page>

export default Schedules
