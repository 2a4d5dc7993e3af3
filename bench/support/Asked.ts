/** One answer of a model: the job, the step in it, and how often that step was asked for before. */
export interface Answer {
  readonly job: number
  readonly step: number
  readonly attempt: number
}

export interface Cost {
  readonly inputTokens: number
  readonly outputTokens: number
  /** In billionths of a US dollar. */
  readonly nanos: number
}

export type Priced = Answer & Cost

const nameOf = ({ attempt, job, step }: Answer) => `${job} ${step} ${attempt}`

export const costOf = (answers: ReadonlyArray<Cost>): Cost =>
  answers.reduce<Cost>(
    (sum, { inputTokens, nanos, outputTokens }) => ({
      inputTokens: sum.inputTokens + inputTokens,
      outputTokens: sum.outputTokens + outputTokens,
      nanos: sum.nanos + nanos
    }),
    { inputTokens: 0, outputTokens: 0, nanos: 0 }
  )

/**
 * What a model was asked for, beside what journals have of it: `kept` is there, `lost` was answered to an execution that
 * was dead or broke off. `invented` is in a journal and was never said; `twice` is the answers to steps that several
 * answers were journaled of; `again` is what was asked for although a journal had the step by an answer before.
 */
export const compared = (asked: ReadonlyArray<Priced>, journaled: ReadonlyArray<Answer>) => {
  const known = new Set(asked.map(nameOf))
  const names = new Set(journaled.map(nameOf))
  const kept = new Map<string, number>()
  const twice: Array<Answer> = []
  for (const answer of journaled) {
    const step = `${answer.job} ${answer.step}`
    if (kept.has(step)) twice.push(answer)
    kept.set(step, answer.attempt)
  }
  return {
    kept: asked.filter((answer) => names.has(nameOf(answer))),
    lost: asked.filter((answer) => !names.has(nameOf(answer))),
    invented: journaled.filter((answer) => !known.has(nameOf(answer))),
    twice,
    again: asked.filter(
      ({ attempt, job, step }) => attempt > (kept.get(`${job} ${step}`) ?? Number.POSITIVE_INFINITY)
    )
  }
}
