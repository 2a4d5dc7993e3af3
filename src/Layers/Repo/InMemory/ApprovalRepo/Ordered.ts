import type { StoredApproval } from "../../../../Schemas/Approval.ts"
import { inOrder } from "../Order.ts"
import type { Tables } from "../Store.ts"

/** Oldest first. */
export const approvalsWith = (
  { approvals }: Tables,
  matches: (approval: StoredApproval) => boolean
): ReadonlyArray<StoredApproval> => Array.from(approvals.values()).filter(matches).sort(inOrder("createdAt"))
