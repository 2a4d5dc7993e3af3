import { useEffect, useRef, useState } from "preact/hooks"

/** Whether an element is in view, and whether it has ever been: what is only then worth loading, and again. */
export const useSeen = <E extends Element>() => {
  const ref = useRef<E>(null)
  const [state, setState] = useState({ isSeen: false, isInView: false })
  useEffect(() => {
    const element = ref.current
    if (element === null) return
    const observer = new IntersectionObserver((entries) => {
      const isInView = entries.at(-1)?.isIntersecting === true
      setState(({ isSeen }) => ({ isSeen: isSeen || isInView, isInView }))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return { ref, ...state }
}
