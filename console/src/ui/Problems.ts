import type { Problem } from "../Client.ts"

const fieldOf = ({ message }: Problem): string | undefined => /^([A-Za-z][\w.[\]]*): /u.exec(message)?.[1]

/** What a problem says of the field of this name, without the name; sentences about fields begin with it (CONTRACT.md section 2). */
export const problemOf = (problem: Problem | undefined, name: string | undefined): string | undefined => {
  if (problem === undefined || name === undefined) return undefined
  const field = fieldOf(problem)
  if (
    field === undefined ||
    (field !== name && !field.startsWith(`${name}.`) && !field.startsWith(`${name}[`))
  ) {
    return undefined
  }
  return problem.message.slice(field === name ? field.length + 2 : 0)
}

/** Whether a problem is about none of these fields, and so is to be said of the whole form. */
export const isOfForm = (problem: Problem | undefined, names: ReadonlyArray<string>): boolean =>
  problem !== undefined && names.every((name) => problemOf(problem, name) === undefined)
