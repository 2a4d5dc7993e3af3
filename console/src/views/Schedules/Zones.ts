/** The time zone of who looks. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

const formats = new Map<string, Intl.DateTimeFormat | undefined>()

/** The clock of a zone; undefined where this browser does not know the zone, which the service may. */
const formatOf = (timeZone: string): Intl.DateTimeFormat | undefined => {
  if (!formats.has(timeZone)) {
    try {
      formats.set(
        timeZone,
        new Intl.DateTimeFormat("en-GB", {
          weekday: "short",
          year: "numeric",
          month: "2-digit",
          day: "2-digit",
          hour: "2-digit",
          minute: "2-digit",
          second: "2-digit",
          hourCycle: "h23",
          timeZoneName: "shortOffset",
          timeZone
        })
      )
    } catch {
      formats.set(timeZone, undefined)
    }
  }
  return formats.get(timeZone)
}

export const isKnownZone = (timeZone: string): boolean => formatOf(timeZone) !== undefined

export interface Clock {
  readonly date: string
  readonly time: string
  /** What the zone is ahead of UTC then: it changes with summer time. */
  readonly offset: string
}

/** What the clock of a zone shows at an instant: seconds only where there are any. In UTC where the zone is not known. */
export const clock = (at: Date, timeZone: string): Clock => {
  const format = formatOf(timeZone) ?? formatOf("UTC")
  const parts = new Map(format?.formatToParts(at).map(({ type, value }) => [type, value]))
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? ""
  const second = part("second")
  const offset = part("timeZoneName").replace("GMT", "UTC")
  return {
    date: `${part("weekday")} ${part("year")}-${part("month")}-${part("day")}`,
    time: `${part("hour")}:${part("minute")}${second === "00" ? "" : `:${second}`}`,
    offset: offset === "UTC+0" ? "UTC" : offset
  }
}

/** `Mon 2026-11-23 09:00 UTC+1` */
export const clockText = (at: Date, timeZone: string): string => {
  const { date, offset, time } = clock(at, timeZone)
  return `${date} ${time} ${offset}`
}

/** The same beside the name of the zone. */
export const dayAndTime = (at: Date, timeZone: string): string => {
  const { date, time } = clock(at, timeZone)
  return `${date} ${time}`
}

/** What one's own clock shows at an instant of which that of another zone is known: the date only where it is another. */
export const hereText = (at: Date, timeZone: string, own = ownZone()): string => {
  const here = clock(at, own)
  return `${clock(at, timeZone).date === here.date ? "" : `${here.date} `}${here.time} ${here.offset}`
}

/** All zones that this browser knows, UTC first. */
export const zones = (): ReadonlyArray<string> => [
  "UTC",
  ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")
]

const two = (value: number): string => String(value).padStart(2, "0")

/** An instant as a field of a date and a time has it, on one's own clock. */
export const toField = (at: Date): string =>
  `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`

/** The instant that such a field has; undefined: none yet. */
export const fromField = (value: string): Date | undefined => {
  const at = new Date(value)
  return value === "" || Number.isNaN(at.getTime()) ? undefined : at
}
