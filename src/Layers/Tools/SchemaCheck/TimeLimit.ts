import * as vm from "node:vm"

export type Timed<A> =
  | { readonly outcome: "done"; readonly value: A }
  /** It threw. */
  | { readonly outcome: "failed" }
  /** It took too long, or too much of the stack. */
  | { readonly outcome: "exceeded" }

/**
 * Makes what runs a synchronous computation for so long at most. The limit of `node:vm` ends whatever the
 * thread does, so it also holds for code from outside of the context, and inside a regular expression.
 */
export const makeTimeLimit = () => {
  const script = new vm.Script("compute()")
  const context = vm.createContext({})
  return <A>(millis: number, compute: () => A): Timed<A> => {
    let result: Timed<A> = { outcome: "exceeded" }
    context.compute = () => {
      try {
        result = { outcome: "done", value: compute() }
      } catch (error) {
        if (!(error instanceof RangeError)) result = { outcome: "failed" }
      }
    }
    try {
      script.runInContext(context, { timeout: millis })
    } catch {
      result = { outcome: "exceeded" }
    } finally {
      context.compute = undefined
    }
    return result
  }
}
