import type { RunDetail } from "../../../../src/Schemas/Run.ts"

/** Whether it is an answer in a chat: these are never retried. */
export const isTurn = ({ id }: Pick<RunDetail, "id">): boolean => id.startsWith("turn_")
