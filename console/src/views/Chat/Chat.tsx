import { Page } from "../../ui/Page.tsx"

const Chat = () => <Page title="Chat">{null}</Page>

export default Chat
