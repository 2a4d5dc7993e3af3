import { useEffect, useState } from "preact/hooks"

/** The present in milliseconds, told that often while it is wanted and the page is seen. */
export const useTick = (isWanted: boolean, everyMillis: number): number => {
  const [at, setAt] = useState(() => Date.now())
  useEffect(() => {
    if (!isWanted) return
    const timer = setInterval(() => {
      if (!document.hidden) setAt(Date.now())
    }, everyMillis)
    return () => clearInterval(timer)
  }, [isWanted, everyMillis])
  return at
}
