import * as Schema from "effect/Schema"
import type { ToolBinding } from "./ToolBinding.ts"

export const AutonomyLevel = Schema.Literals(["supervised", "semi-autonomous", "autonomous"])
export type AutonomyLevel = typeof AutonomyLevel.Type

/** Of tasks, cron jobs and chat messages alike, where nobody says anything else (CONTRACT.md section 5). */
export const defaultAutonomy: AutonomyLevel = "semi-autonomous"

/** Whether a level is at most another: it asks wherever the other does. */
export const isAtMost = (level: AutonomyLevel, other: AutonomyLevel): boolean =>
  AutonomyLevel.literals.indexOf(level) <= AutonomyLevel.literals.indexOf(other)

/**
 * Whether a tool is called only after somebody allowed it (CONTRACT.md section 5): a built-in one, which acts within
 * the workspace alone, only where every call is asked about.
 */
export const needsApproval = (level: AutonomyLevel, binding: Pick<ToolBinding, "readOnly"> | null): boolean =>
  level === "supervised" || (level === "semi-autonomous" && binding !== null && !binding.readOnly)
