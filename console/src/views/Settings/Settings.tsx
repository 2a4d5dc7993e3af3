import { Page } from "../../ui/Page.tsx"

const Settings = () => <Page title="Settings">{null}</Page>

export default Settings
