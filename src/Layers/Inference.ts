import * as Offline from "./Inference/Offline.ts"

/** The models of this process. */
export const layer = Offline.layer
