import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks"
import { newKey, type Problem, signIns, toProblem } from "./Client.ts"
import { makeOnce, type Once } from "./Once.ts"

export interface Loaded<A> {
  /** The last that was loaded of this key, also while it is loaded again or can't be. */
  readonly data: A | undefined
  readonly problem: Problem | undefined
  /** Whether the first answer is still awaited. */
  readonly isLoading: boolean
  readonly reload: () => void
}

interface Options {
  /** Loads again that often while the page is seen, in milliseconds; rarer while it fails. */
  readonly every?: number | undefined
}

interface State<A> {
  readonly key: string
  readonly data: A | undefined
  readonly problem: Problem | undefined
}

const longestPause = 30_000

/**
 * Loads something while a component is there: what a key names. Never twice at once; an answer that comes after the
 * key has changed, or the component has gone, is nobody's.
 */
export const useLoad = <A>(
  key: string,
  load: (signal: AbortSignal) => Promise<A>,
  { every }: Options = {}
): Loaded<A> => {
  const { value: signedInAgain } = signIns
  const [state, setState] = useState<State<A>>({ key, data: undefined, problem: undefined })
  const latest = useRef(load)
  latest.current = load
  const again = useRef(() => {})

  // Behind the next frame it would be asked for a frame later.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was refused is asked for again
  useLayoutEffect(() => {
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isBusy = false
    let isWanted = false
    let failures = 0

    const schedule = () => {
      clearTimeout(timer)
      if (every === undefined || document.hidden || controller.signal.aborted) return
      timer = setTimeout(start, Math.min(every * 2 ** failures, Math.max(every, longestPause)))
    }
    const start = async () => {
      if (isBusy) {
        isWanted = true
        return
      }
      isBusy = true
      isWanted = false
      const settled = await latest.current(controller.signal).then(
        (data) => ({ data }),
        (error) => ({ problem: toProblem(error) })
      )
      isBusy = false
      if (controller.signal.aborted) return
      failures = "problem" in settled ? Math.min(failures + 1, 8) : 0
      setState((before) => ({
        key,
        data: "data" in settled ? settled.data : before.key === key ? before.data : undefined,
        problem: "problem" in settled ? settled.problem : undefined
      }))
      if (isWanted) start()
      else schedule()
    }
    const whenSeen = () => {
      if (every === undefined) return
      if (document.hidden) clearTimeout(timer)
      else start()
    }
    again.current = start
    start()
    document.addEventListener("visibilitychange", whenSeen)
    return () => {
      controller.abort()
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", whenSeen)
    }
  }, [key, every, signedInAgain])

  const reload = useCallback(() => again.current(), [])
  const isCurrent = state.key === key
  const data = isCurrent ? state.data : undefined
  const problem = isCurrent ? state.problem : undefined
  return { data, problem, isLoading: data === undefined && problem === undefined, reload }
}

export interface Action<A extends ReadonlyArray<unknown>> {
  /** Does it, unless it is under way; true when it was done. Never rejects. */
  readonly run: (...args: A) => Promise<boolean>
  readonly isBusy: boolean
  readonly problem: Problem | undefined
  readonly clear: () => void
}

/** Something that a person does, once at a time: what went wrong is kept until it is done again. */
export const useAction = <A extends ReadonlyArray<unknown>>(
  act: (...args: A) => Promise<unknown>
): Action<A> => {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  const latest = useRef(act)
  latest.current = act
  const busy = useRef(false)

  const run = useCallback(async (...args: A) => {
    if (busy.current) return false
    busy.current = true
    setBusy(true)
    setProblem(undefined)
    try {
      await latest.current(...args)
      return true
    } catch (error) {
      setProblem(toProblem(error))
      return false
    } finally {
      busy.current = false
      setBusy(false)
    }
  }, [])
  const clear = useCallback(() => setProblem(undefined), [])
  return { run, isBusy, problem, clear }
}

/** What is made once however often it is sent, for as long as a component is there. */
export const useOnce = (): Once => useState(() => makeOnce(newKey))[0]
