import * as Effect from "effect/Effect"
import type { Unavailable } from "../../Schemas/Errors.ts"
import type { HandedBack } from "../../Schemas/Execution.ts"
import { besideGiven, type GivenTool, isGiven } from "../../Schemas/GivenTool.ts"
import { type JudgedTool, makeRuling } from "../../Schemas/Policy.ts"
import { fitTools } from "../../Schemas/Prompt.ts"
import { kindOf, type StoredRun } from "../../Schemas/Run.ts"
import type { ToolDefinition } from "../../Schemas/Tool.ts"
import {
  type AbsentConnector,
  connectorUnavailable,
  type ToolUnavailable
} from "../../Schemas/ToolAbsence.ts"
import { type BoundCall, isSameTool, type ToolBinding, type ToolPlace } from "../../Schemas/ToolBinding.ts"
import type { Offer, Tool, ToolSource } from "../ToolSource.ts"
import { untilDraining } from "./Draining.ts"
import { patiently } from "./Patience.ts"
import type { AwaitTool } from "./ToolWait.ts"

/** The tools that a run may use. */
export interface ToolAccess {
  /** What its model may be shown, and whom it is told that it misses. */
  readonly offer: Effect.Effect<Offer, ToolUnavailable | Unavailable>
  readonly find: (place: ToolPlace) => Effect.Effect<Tool, ToolUnavailable | Unavailable>
  readonly builtin: ReadonlyArray<Tool>
  /** Whether its policy lets it have a tool at all. What it may not have is neither shown nor called. */
  readonly mayHave: (tool: JudgedTool) => boolean
  /** Whether it waits for a tool that can't be had; else the model is told that the call was not made. */
  readonly waits: boolean
}

/**
 * A task waits, and does not begin without the connectors that it names; others that it can't have, it does without.
 * A turn never waits, since somebody does who reads it, and its conversation is busy meanwhile: it does without,
 * which its model and its reader are told. That is so for a call that was approved as well: the model says that it
 * was not made, and whoever still wants it says so again.
 */
export const accessOf = (source: ToolSource["Service"], run: StoredRun): ToolAccess => {
  const ruling = makeRuling(run)
  const mayHave = (tool: JudgedTool) => ruling(tool) !== "deny"
  const mayHaveTool = ({ binding, definition: { name } }: Tool) => mayHave({ binding, name })
  const offer = Effect.map(source.tools(run), ({ absent, tools }) => ({
    absent,
    tools: tools.filter(mayHaveTool)
  }))
  const waits = kindOf(run) === "task"
  return {
    builtin: source.builtin(run).filter(mayHaveTool),
    find: (place) => source.find(run, place),
    mayHave,
    waits,
    offer: !waits
      ? offer
      : run.connectorIds === null
        ? Effect.map(offer, ({ tools }) => ({ tools, absent: [] }))
        : Effect.flatMap(offer, whole)
  }
}

const whole = (offer: Offer): Effect.Effect<Offer, ToolUnavailable> => {
  const [first] = offer.absent
  const missing = offer.absent.find(({ isGone }) => isGone) ?? first
  return missing === undefined ? Effect.succeed(offer) : Effect.fail(connectorUnavailable(missing))
}

const findAtOnce = 8

/**
 * What a run was given with its first question it has in each execution, under the same names. What of it can't be had
 * is waited for, or told, like a connector that the run names.
 */
const keepGiven =
  (given: ReadonlyArray<GivenTool>, { find, waits }: Pick<ToolAccess, "find" | "waits">) =>
  (offer: Offer): Effect.Effect<Offer, ToolUnavailable | Unavailable> =>
    Effect.gen(function* () {
      const missing = new Map(offer.absent.map((connector) => [connector.id, connector]))
      const found = yield* Effect.forEach(
        given,
        (one) => {
          const known = offer.tools.find((tool) => isGiven(one, tool))
          return (known === undefined ? find(one) : Effect.succeed(known)).pipe(
            Effect.map((tool): Tool => ({ ...tool, definition: { ...tool.definition, name: one.name } })),
            Effect.catchTag("ToolUnavailable", (unavailable) => {
              if (waits) return Effect.fail(unavailable)
              const { connectorId: id, connectorName: name } = one
              missing.set(id, { id, name, why: unavailable.error, isGone: unavailable.isGone })
              return Effect.succeed(undefined)
            })
          )
        },
        { concurrency: findAtOnce }
      )
      const kept = found.filter((tool) => tool !== undefined)
      return { tools: [...besideGiven(given, offer.tools), ...kept], absent: [...missing.values()] }
    })

/** What a call goes to. */
interface Destination {
  readonly binding: ToolBinding | null
  /** Looked for when the call is made, as it is then. */
  readonly tool: Effect.Effect<Tool, ToolUnavailable | Unavailable>
}

/** The tools of one execution. */
export interface Toolbox extends Pick<ToolAccess, "waits"> {
  /**
   * What the model is shown. Looked up when it is first needed, and the same until the execution ends. `tools` are those
   * of the agent, of which none has the name of one of the caller's; `definitions` are of all.
   */
  readonly shown: Effect.Effect<
    {
      readonly tools: ReadonlyArray<Tool>
      readonly definitions: ReadonlyArray<ToolDefinition>
      readonly absent: ReadonlyArray<AbsentConnector>
    },
    HandedBack | ToolUnavailable
  >
  /**
   * What a call is bound to, whatever has its name by now; undefined where the model made its name up, or may not have it. Only the name
   * is known of calls that were kept by a version before: those are of the tool that has it now.
   */
  readonly destinationOf: (
    call: BoundCall
  ) => Effect.Effect<Destination | undefined, HandedBack | ToolUnavailable>
  /** What there is to call: what the model is shown, or, before it is looked up, what is known to be among that. */
  readonly names: () => ReadonlyArray<string>
}

export const make = Effect.fnUntraced(function* (
  { builtin, find, mayHave, offer, waits }: ToolAccess,
  awaitTool: AwaitTool,
  {
    budget,
    given: kept,
    own
  }: {
    readonly budget: number
    readonly given: ReadonlyArray<GivenTool>
    /** Of the caller: they come first, and it is known that they fit. */
    readonly own: ReadonlyArray<ToolDefinition>
  }
): Effect.fn.Return<Toolbox> {
  const given = kept.filter((one) => mayHave({ name: one.name, binding: one }))
  const keep = keepGiven(given, { find, waits })
  const ownNames = new Set(own.map(({ name }) => name))
  const isOwn = ({ name }: { readonly name: string }) => ownNames.has(name)
  let looked: ReadonlyArray<Tool> | undefined
  const shown = yield* Effect.cached(
    Effect.gen(function* () {
      const offered = yield* awaitTool(untilDraining(patiently(Effect.flatMap(offer, keep))))
      const all = [...own, ...offered.tools.filter(({ definition }) => !isOwn(definition))]
      const fitting = fitTools(all, definitionOf, budget)
      const tools = fitting.filter((tool) => "definition" in tool)
      if (fitting.length < all.length) {
        const leftOut = all.length - fitting.length
        yield* Effect.annotateLogs(Effect.logWarning("tools too many were left out"), { leftOut })
      }
      looked = tools
      return { tools, definitions: fitting.map(definitionOf), absent: offered.absent }
    })
  )
  const named = (tools: ReadonlyArray<Tool>, { name }: BoundCall): Destination | undefined => {
    const tool = tools.find(({ definition }) => definition.name === name)
    return tool && { binding: tool.binding, tool: Effect.succeed(tool) }
  }
  return {
    shown,
    waits,
    names: () => [
      ...ownNames,
      ...(looked?.map(({ definition }) => definition.name) ??
        [...builtin.map(({ definition }) => definition), ...given]
          .filter((one) => !isOwn(one))
          .map(({ name }) => name))
    ],
    destinationOf: (call) => {
      const { binding } = call
      if (!mayHave({ name: call.name, binding: binding ?? null })) return Effect.undefined
      if (binding === undefined) return Effect.map(shown, ({ tools }) => named(tools, call))
      if (binding === null) return Effect.succeed(named(builtin, call))
      const known = looked?.find((tool) => isSameTool(tool.binding, binding))
      return Effect.succeed({ binding, tool: known === undefined ? find(binding) : Effect.succeed(known) })
    }
  }
})

const definitionOf = (tool: Tool | ToolDefinition): ToolDefinition =>
  "definition" in tool ? tool.definition : tool
