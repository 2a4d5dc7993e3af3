import type { WebhookId } from "../../../../src/Schemas/Ids.ts"
import { route } from "../../Router.ts"
import { WebhookList } from "./WebhookList.tsx"
import { WebhookPage } from "./WebhookPage.tsx"
import "./Webhooks.css"

/** The webhooks of the workspace, or one of them. */
const Webhooks = () => {
  const id = route.value.path[1] as WebhookId | undefined
  return id === undefined ? <WebhookList /> : <WebhookPage key={id} id={id} />
}

export default Webhooks
