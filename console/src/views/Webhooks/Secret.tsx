import { Button } from "../../ui/Button.tsx"
import { Copy } from "../../ui/Copy.tsx"
import { Dialog } from "../../ui/Dialog.tsx"

/** Shows the secret of a webhook, the one time that it is known. */
export const Secret = ({ onClose, secret }: { readonly secret: string; readonly onClose: () => void }) => (
  <Dialog title="The secret of the webhook" onClose={onClose}>
    <p>Its messages are signed with it. It is shown this once: put it where the receiver can read it.</p>
    <p class="webhooks-secret">
      <code>{secret}</code>
      <Copy text={secret} what="secret" />
    </p>
    <footer>
      <Button kind="primary" onClick={onClose}>
        I have kept it
      </Button>
    </footer>
  </Dialog>
)
