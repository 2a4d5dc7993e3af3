import { useEffect, useState } from "preact/hooks"

const narrow = matchMedia("(max-width: 760px)")

/** Whether the window is as narrow as a phone's. */
export const useNarrow = (): boolean => {
  const [isNarrow, setNarrow] = useState(narrow.matches)
  useEffect(() => {
    const look = () => setNarrow(narrow.matches)
    narrow.addEventListener("change", look)
    return () => narrow.removeEventListener("change", look)
  }, [])
  return isNarrow
}
