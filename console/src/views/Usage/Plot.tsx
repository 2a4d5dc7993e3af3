import { useEffect, useRef } from "preact/hooks"
import UPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import { theme } from "../../Theme.ts"

export interface Drawn {
  readonly label: string
  /** A custom property of the theme, such as `--ok-fill`. */
  readonly colour: string
  readonly values: ReadonlyArray<number>
}

interface Props {
  readonly label: string
  /** UTC days, such as `2026-11-22`. */
  readonly days: ReadonlyArray<string>
  /** Drawn in this order: what is behind comes first. */
  readonly series: ReadonlyArray<Drawn>
  readonly format: (value: number) => string
  readonly onDay: (index: number | undefined) => void
}

const height = 200

/** Custom properties with `light-dark()` are a colour only where one is used. */
const resolved = (probe: HTMLElement, name: string): string => {
  probe.style.color = `var(${name})`
  return getComputedStyle(probe).color
}

const draw = (box: HTMLDivElement, { days, format, onDay, series }: Props): UPlot => {
  const probe = document.createElement("span")
  box.append(probe)
  const [text, line] = [resolved(probe, "--muted"), resolved(probe, "--line")]
  const colours = series.map(({ colour }) => resolved(probe, colour))
  probe.remove()
  const bars = UPlot.paths.bars?.({ size: [0.7, 40] })
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false } }
  const options: UPlot.Options = {
    width: Math.max(200, box.clientWidth),
    height,
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    scales: { y: { range: (_, _low, high) => [0, high <= 0 ? 1 : high * 1.05] } },
    axes: [
      {
        ...axis,
        space: 70,
        values: (_, splits) => splits.map((seconds) => new Date(seconds * 1000).toISOString().slice(5, 10))
      },
      { ...axis, size: 64, values: (_, splits) => splits.map(format) }
    ],
    series: [
      {},
      ...series.map(({ label }, index) => ({
        label,
        fill: colours[index] ?? text,
        width: 0,
        points: { show: false },
        ...(bars !== undefined && { paths: bars })
      }))
    ],
    hooks: { setCursor: [(plot) => onDay(plot.cursor.idx ?? undefined)] }
  }
  const data: UPlot.AlignedData = [
    days.map((day) => Date.parse(day) / 1000),
    ...series.map(({ values }) => [...values])
  ]
  return new UPlot(options, data, box)
}

/** Bars by day. What it shows is in a table as well: this is a picture of it. */
export const Plot = (props: Props) => {
  const box = useRef<HTMLDivElement>(null)
  const latest = useRef(props)
  latest.current = props
  const { days, label, series } = props
  const chosen = theme.value
  // biome-ignore lint/correctness/useExhaustiveDependencies: other days, values or colours are drawn anew
  useEffect(() => {
    const { current } = box
    if (current === null) return
    let plot = draw(current, latest.current)
    const redraw = () => {
      plot.destroy()
      plot = draw(current, latest.current)
    }
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: Math.max(200, current.clientWidth), height })
    )
    observer.observe(current)
    const scheme = matchMedia("(prefers-color-scheme: dark)")
    scheme.addEventListener("change", redraw)
    return () => {
      scheme.removeEventListener("change", redraw)
      observer.disconnect()
      plot.destroy()
    }
  }, [days, series, chosen])
  return <div class="usage-plot" ref={box} role="img" aria-label={label} />
}
