import { mostRows, type usePages } from "../Pages.ts"
import { Button } from "./Button.tsx"

/** Reads a list on, or says why it ends here. */
export const More = ({ pages }: { readonly pages: ReturnType<typeof usePages> }) => {
  if (!pages.hasMore) return null
  return pages.isFull ? (
    <p class="muted">There are more than the {mostRows.toLocaleString("en")} that are shown here.</p>
  ) : (
    <Button kind="quiet" isBusy={pages.isReading} onClick={() => pages.more()}>
      Show more
    </Button>
  )
}
