import * as Effect from "effect/Effect"
import type { AccountResult, Listed } from "../../../Schemas/Account.ts"
import { fieldsOf, type Line, tableOf } from "../../../Schemas/Table.ts"
import { writeStderr, writeStdout } from "../../Output.ts"

const isList = (result: AccountResult): result is Listed => "items" in result

const idOf = (item: Listed["items"][number]): string => {
  if ("tokenId" in item) return item.tokenId
  return "workspaceId" in item ? item.workspaceId : item.userId
}

const printList = Effect.fnUntraced(function* ({ items, more }: Listed, asJson: boolean) {
  if (asJson) yield* writeStdout(JSON.stringify(items))
  else if (items.length > 0) yield* writeStdout(tableOf(items as ReadonlyArray<Line>))
  const last = items.at(-1)
  if (more && last !== undefined) yield* writeStderr(`agentd: there are more: --after ${idOf(last)}`)
})

/** What a command did: for a program one JSON value on standard output, for a person a table or lines. */
export const print = (result: AccountResult, asJson: boolean): Effect.Effect<void> => {
  if (isList(result)) return printList(result, asJson)
  return writeStdout(asJson ? JSON.stringify(result) : fieldsOf(result as Line))
}
