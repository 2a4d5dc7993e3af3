import * as Schema from "effect/Schema"
import { type ToolBinding, ToolPlace } from "./ToolBinding.ts"

/**
 * A tool of a connector that a model was shown with the first question of a run, and the name that it has there until
 * the run is over (CONTRACT.md section 5): whatever is renamed, added or gone meanwhile, the name leads nowhere else.
 */
export const GivenTool = Schema.Struct({ ...ToolPlace.fields, name: Schema.String })
export type GivenTool = typeof GivenTool.Type

interface Shown {
  readonly definition: { readonly name: string }
  readonly binding: ToolBinding | null
}

export const givenOf = (tools: ReadonlyArray<Shown>): ReadonlyArray<GivenTool> =>
  tools.flatMap(({ binding, definition: { name } }) => {
    if (binding === null) return []
    const { connectorId, connectorName, place, prefix, tool } = binding
    return [{ name, connectorId, connectorName, place, tool, ...(prefix !== undefined && { prefix }) }]
  })

export const isGiven = (given: GivenTool, { binding }: Shown): boolean =>
  binding !== null &&
  binding.connectorId === given.connectorId &&
  binding.place === given.place &&
  binding.tool === given.tool

/** What is shown later beside what was given: nothing that has a name of that. */
export const besideGiven = <T extends Shown>(
  given: ReadonlyArray<GivenTool>,
  tools: ReadonlyArray<T>
): ReadonlyArray<T> => {
  const names = new Set(given.map(({ name }) => name))
  return tools.filter((tool) => !names.has(tool.definition.name) && !given.some((one) => isGiven(one, tool)))
}
