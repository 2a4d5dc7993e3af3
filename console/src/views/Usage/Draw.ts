import UPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import type { Drawing } from "./Drawing.ts"

/** Of a plot, in pixels. */
export const height = 200

const halfDay = 43_200

/** Custom properties with `light-dark()` are a colour only where one is used. */
const resolved = (probe: HTMLElement, name: string): string => {
  probe.style.color = `var(${name})`
  return getComputedStyle(probe).color
}

/** Draws bars by day, in the colours of the theme, as wide as the box is. */
export const draw = (box: HTMLDivElement, { days, format, onDay, series }: Drawing): UPlot => {
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
    scales: {
      // A bar is as wide as a part of its day: the first and last are seen whole.
      x: { range: (_, first, last) => [first - halfDay, last + halfDay] },
      y: { range: (_, _low, high) => [0, high <= 0 ? 1 : high * 1.05] }
    },
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
