import type { RunId } from "../../../../src/Schemas/Ids.ts"
import { Page } from "../../ui/Page.tsx"

export const RunPage = ({ id }: { readonly id: RunId }) => <Page title={id}>{null}</Page>
