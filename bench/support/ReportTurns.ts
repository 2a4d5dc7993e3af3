/**
 * Imported into a server before it starts: says to its parent, whenever that asks, for how long its event loop was
 * held the longest since it was asked before.
 */
import { measureTurns } from "../../test/support/LongestTurn.ts"

const { take } = measureTurns()
process.on("message", () => process.send?.(take()))
process.channel?.unref()
