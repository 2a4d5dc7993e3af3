const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** A span of time in its two largest units: `820 ms`, `4.2 s`, `3 m 5 s`, `2 h 10 m`, `3 d 4 h`. */
export const duration = (millis: number): string => {
  const whole = Math.max(0, Math.round(millis))
  if (whole < second) return `${whole} ms`
  if (whole < 10 * second) return `${(Math.floor(whole / 100) / 10).toString()} s`
  if (whole < minute) return `${Math.floor(whole / second)} s`
  const two = (unit: number, name: string, smaller: number, smallerName: string) => {
    const rest = Math.floor((whole % unit) / smaller)
    return `${Math.floor(whole / unit)} ${name}${rest === 0 ? "" : ` ${rest} ${smallerName}`}`
  }
  if (whole < hour) return two(minute, "m", second, "s")
  if (whole < day) return two(hour, "h", minute, "m")
  return two(day, "d", hour, "h")
}

/** How long ago, or until when: `now`, `4 m ago`, `in 2 h`. */
export const relative = (at: Date, now: number): string => {
  const millis = at.getTime() - now
  const span = Math.abs(millis)
  if (span < 5 * second) return "now"
  const [unit, name] =
    span < minute ? [second, "s"] : span < hour ? [minute, "m"] : span < day ? [hour, "h"] : [day, "d"]
  const said = `${Math.floor(span / (unit as number))} ${name}`
  return millis < 0 ? `${said} ago` : `in ${said}`
}

const clocks = new Map<string | undefined, Intl.DateTimeFormat>()

/** The clock of a time zone, made once: making one takes longer than reading a hundred. */
const clockOf = (timeZone: string | undefined): Intl.DateTimeFormat => {
  const known = clocks.get(timeZone)
  if (known !== undefined) return known
  const clock = new Intl.DateTimeFormat("en-CA", {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
    ...(timeZone !== undefined && { timeZone })
  })
  clocks.set(timeZone, clock)
  return clock
}

/** An instant as the clock of a time zone shows it, one's own by default: `2026-11-22 09:30:05 GMT+1`. */
export const instant = (at: Date, timeZone?: string): string => {
  const parts = clockOf(timeZone).formatToParts(at)
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((each) => each.type === type)?.value ?? ""
  const date = `${part("year")}-${part("month")}-${part("day")}`
  return `${date} ${part("hour")}:${part("minute")}:${part("second")} ${part("timeZoneName")}`
}

/** A count for people: `950`, `12.4k`, `3.1M`. */
export const count = (value: number): string => {
  const short = (scaled: number, unit: string) =>
    `${scaled < 100 ? Math.floor(scaled * 10) / 10 : Math.floor(scaled)}${unit}`
  if (Math.abs(value) < 1_000) return `${value}`
  if (Math.abs(value) < 1_000_000) return short(value / 1_000, "k")
  return Math.abs(value) < 1_000_000_000 ? short(value / 1_000_000, "M") : short(value / 1_000_000_000, "G")
}

/** US dollars; a dash where they are not known. */
export const cost = (usd: number | null): string => {
  if (usd === null) return "–"
  if (usd === 0) return "$0"
  if (usd < 0.0001) return "< $0.0001"
  return `$${usd < 0.01 ? usd.toFixed(4) : usd < 1 ? usd.toFixed(3) : usd.toFixed(2)}`
}

/** A size of text or data: `820 B`, `3.2 KB`. */
export const bytes = (value: number): string => {
  if (value < 1_024) return `${value} B`
  const scaled = value < 1_048_576 ? value / 1_024 : value / 1_048_576
  return `${Math.floor(scaled * 10) / 10} ${value < 1_048_576 ? "KB" : "MB"}`
}

/** The first line of a text that has something in it, or all of it that fits. */
export const firstLine = (text: string, most = 200): string => {
  const line = text.trimStart().split(/\r?\n/u, 1)[0] ?? ""
  return line.length > most ? `${line.slice(0, most)}…` : line
}
