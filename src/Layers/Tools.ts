import * as Builtin from "./Tools/Builtin.ts"

/** The tools of this process. */
export const layer = Builtin.layer
