import { useEffect, useState } from "preact/hooks"

const pauseMillis = 300

/** What a person types, once they pause: a request for each letter would be too many. */
export const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMillis)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
