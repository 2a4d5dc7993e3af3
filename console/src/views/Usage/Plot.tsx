import { useEffect, useRef, useState } from "preact/hooks"
import { theme } from "../../Theme.ts"
import type { Drawing } from "./Drawing.ts"

/** Draws until it is stopped, anew when its box or the colours of the system change. */
const keepDrawn = async (box: HTMLDivElement, drawing: () => Drawing, signal: AbortSignal) => {
  const { draw, height } = await import("./Draw.ts")
  if (signal.aborted) return
  let plot = draw(box, drawing())
  const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, box.clientWidth), height }))
  observer.observe(box)
  const redraw = () => {
    plot.destroy()
    plot = draw(box, drawing())
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw, { signal })
  signal.addEventListener("abort", () => {
    observer.disconnect()
    plot.destroy()
  })
}

/** Bars by day. What it shows is in a table as well: this is a picture of it, and not every browser can draw it. */
export const Plot = ({ label, ...drawing }: Drawing & { readonly label: string }) => {
  const box = useRef<HTMLDivElement>(null)
  const latest = useRef(drawing)
  latest.current = drawing
  const [isFailed, setFailed] = useState(false)
  const { days, series } = drawing
  const chosen = theme.value
  // biome-ignore lint/correctness/useExhaustiveDependencies: other days, values or colours are drawn anew
  useEffect(() => {
    const controller = new AbortController()
    if (box.current !== null) {
      keepDrawn(box.current, () => latest.current, controller.signal).catch(() => setFailed(true))
    }
    return () => controller.abort()
  }, [days, series, chosen])
  return (
    <>
      <div class="usage-plot" ref={box} role="img" aria-label={label} />
      {isFailed && <p class="muted">This browser can't draw it: the table below has the same.</p>}
    </>
  )
}
