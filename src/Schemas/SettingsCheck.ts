import { problemOf, type Setting } from "./Setting.ts"
import { secretNames, settings } from "./SettingsTable.ts"

type Environment = Readonly<Record<string, string | undefined>>

/** How many letters a name may be away from a known one to be taken for it. */
const farthest = 2

const prefix = "AGENTD_"

/** What commands read that speak to a running service (`Layers/Client.ts`). */
const ofClients = ["AGENTD_URL", "AGENTD_TOKEN", "AGENTD_WEBHOOK_SECRET"]

/** Every name that is read. */
const known: ReadonlyArray<string> = [
  ...Object.keys(settings),
  ...secretNames.map((name) => `${name}_FILE`),
  ...ofClients
]

/**
 * What Kubernetes sets in every pod for a service whose name begins with `agentd`. One of a service `agentd-database`
 * is `AGENTD_DATABASE_PORT`, two letters from `AGENTD_DATABASE_POOL`: these are nobody's mistake.
 */
const serviceLink =
  /^AGENTD_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/u

/** Other ways to the database of DATABASE_URL: without it an embedded one would be made, and nobody would notice. */
const ofDatabase = ["DATABASE_READ_URL", "DATABASE_DIRECT_URL"]

/**
 * What is wrong with an environment: `mistakes` are sentences about values that can't be read (they never repeat them),
 * or mean nothing without another, and about variables `AGENTD_…` that are within two letters of a known one; `unknown` are the other variables
 * `AGENTD_…` that are read by nobody. Names without the prefix belong to others as well and are not looked at.
 */
export const check = (
  environment: Environment
): { readonly mistakes: ReadonlyArray<string>; readonly unknown: ReadonlyArray<string> } => {
  const values = Object.entries(settings).flatMap(([name, setting]: [string, Setting]) => {
    const problem = problemOf(setting, environment[name] ?? "")
    return problem === undefined ? [] : [`${name} ${problem}`]
  })
  const isSet = (name: string) => (environment[name] ?? "") !== ""
  const alone = isSet("DATABASE_URL") ? [] : ofDatabase.filter(isSet)
  const foreign = Object.keys(environment).filter(
    (name) => name.startsWith(prefix) && !known.includes(name) && isSet(name)
  )
  const meant = foreign.map((name) => ({ name, near: nearest(name) }))
  const isMistake = ({ near }: { readonly near: ReadonlyArray<string> }) => near.length > 0
  return {
    mistakes: [
      ...values,
      ...alone.map((name) => `${name} needs DATABASE_URL`),
      ...meant
        .filter(isMistake)
        .map(({ name, near }) => `${name} is no setting: did you mean ${near.join(" or ")}?`)
    ],
    unknown: meant.filter((one) => !isMistake(one)).map(({ name }) => name)
  }
}

/** The known names that this one is taken for: the nearest, of which there may be two. */
export const nearest = (name: string): ReadonlyArray<string> => {
  if (serviceLink.test(name)) return []
  const own = name.slice(prefix.length)
  const near = known
    .filter((other) => other.startsWith(prefix))
    .map((other) => ({ other, distance: distanceOf(own, other.slice(prefix.length), farthest) }))
  const least = Math.min(...near.map(({ distance }) => distance))
  return near.filter(({ distance }) => distance === least && distance <= farthest).map(({ other }) => other)
}

/**
 * How many letters are missing, too many, other ones or swapped with their neighbour (Damerau and Levenshtein, no part
 * changed twice); Infinity where the lengths alone differ by more than `most`.
 */
const distanceOf = (a: string, b: string, most: number): number => {
  if (Math.abs(a.length - b.length) > most) return Number.POSITIVE_INFINITY
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + (isSame ? 0 : 1),
          isSwapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY
        )
      )
    }
  }
  return at(a.length, b.length)
}
