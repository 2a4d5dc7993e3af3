import type { RunId } from "../Ids.ts"
import { idOf } from "../Ids.ts"

/**
 * Which response is meant: a turn, and which leg of it. A turn that waits for people to allow a call is over for OpenAI's
 * clients, which go on with another response: so each leg of it, up to where it waits, is a response of its own. The first
 * is 1.
 */
export interface ResponseKey {
  readonly turnId: RunId
  readonly leg: number
}

/** `resp_` and the id of the turn behind its prefix, and of a later leg which it is: `resp_01j…`, `resp_01j…_2`. */
export const responseIdOf = (key: ResponseKey): string => `resp_${suffixOf(key)}`

/** The id of an item of a response, by its place in it. */
export const itemIdOf = (prefix: string, key: ResponseKey, index: number): string =>
  `${prefix}_${suffixOf(key)}_${index}`

const suffixOf = ({ leg, turnId }: ResponseKey): string => {
  const suffix = turnId.slice(turnId.indexOf("_") + 1)
  return leg === 1 ? suffix : `${suffix}_${leg}`
}

/** The response that has this id; undefined where none can have it. */
export const responseKeyOf = (id: string): ResponseKey | undefined => keyOf(/^resp_(.+)$/u.exec(id)?.[1])

/** The response that has an item of this id; undefined where none can have it. */
export const keyOfItem = (id: string): ResponseKey | undefined =>
  keyOf(/^(?:fc|mcp|mcpr|msg)_(.+)_\d{1,9}$/u.exec(id)?.[1])

const keyOf = (suffix = ""): ResponseKey | undefined => {
  const [, ulid, leg = "1"] = /^([0-9a-z]{1,64})(?:_([1-9]\d{0,5}))?$/u.exec(suffix) ?? []
  return ulid === undefined ? undefined : { turnId: idOf<RunId>("turn", ulid), leg: Number(leg) }
}
