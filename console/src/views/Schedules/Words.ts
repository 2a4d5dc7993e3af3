const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
const dayNames = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

const macros: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@hourly": "0 * * * *"
}

const two = (value: number): string => String(value).padStart(2, "0")

/** A number within bounds; undefined: something else. */
const number = (text: string, from: number, to: number): number | undefined => {
  const value = /^\d{1,2}$/u.test(text) ? Number(text) : undefined
  return value !== undefined && value >= from && value <= to ? value : undefined
}

/** The n of a step over all values, where it is the same span all over the turn of the clock. */
const step = (text: string, turn: number): number | undefined => {
  const every = /^\*\/(\d{1,2})$/u.exec(text)?.[1]
  const value = every === undefined ? undefined : Number(every)
  return value !== undefined && value > 0 && value < turn && turn % value === 0 ? value : undefined
}

const listed = (parts: ReadonlyArray<string>): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`

const dayOf = (text: string): number | undefined => {
  const named = dayNames.indexOf(text.toUpperCase())
  const value = named === -1 ? number(text, 0, 7) : named
  return value === undefined ? undefined : value % 7
}

const weekdays = (text: string): string | undefined => {
  if (text === "*") return "every day"
  const [from, to, more] = text.split("-")
  if (to !== undefined && more === undefined) {
    const [first, last] = [dayOf(from ?? ""), dayOf(to)]
    if (first === undefined || last === undefined || first >= last) return undefined
    return `${days[first]} to ${days[last]}`
  }
  const chosen = text.split(",").map(dayOf)
  if (chosen.some((day) => day === undefined) || new Set(chosen).size !== chosen.length) return undefined
  return `every ${listed(chosen.map((day) => days[day ?? 0] ?? ""))}`
}

const monthday = (text: string): string | undefined => {
  if (text.toUpperCase() === "L") return "on the last day of every month"
  const day = number(text, 1, 31)
  if (day === undefined) return undefined
  return `on day ${day} of every month${day > 28 ? " that has one" : ""}`
}

const onDays = (dayOfMonth: string, dayOfWeek: string): string | undefined => {
  if (dayOfMonth === "*") return weekdays(dayOfWeek)
  return dayOfWeek === "*" ? monthday(dayOfMonth) : undefined
}

const every = (count: number, unit: string): string =>
  count === 1 ? `every ${unit}` : `every ${count} ${unit}s`

/** Within the day: seconds, minutes or hours that come again and again; undefined: at certain times, or unclear. */
const again = (second: string, minute: string, hour: string): string | undefined => {
  const isEachMinute = minute === "*" && hour === "*"
  if (isEachMinute && (second === "*" || step(second, 60) !== undefined)) {
    return every(step(second, 60) ?? 1, "second")
  }
  if (second !== "0") return undefined
  if (hour === "*" && (minute === "*" || step(minute, 60) !== undefined)) {
    return every(step(minute, 60) ?? 1, "minute")
  }
  const at = number(minute, 0, 59)
  const hours = hour === "*" ? 1 : step(hour, 24)
  if (at === undefined || hours === undefined) return undefined
  return `${every(hours, "hour")}${at === 0 ? ", on the hour" : `, ${at} minute${at === 1 ? "" : "s"} past`}`
}

const atTimes = (second: string, minute: string, hour: string): string | undefined => {
  const [seconds, minutes] = [number(second, 0, 59), number(minute, 0, 59)]
  const hours = hour.split(",").map((each) => number(each, 0, 23))
  if (seconds === undefined || minutes === undefined || hours.some((each) => each === undefined)) {
    return undefined
  }
  const tail = `:${two(minutes)}${seconds === 0 ? "" : `:${two(seconds)}`}`
  return `at ${listed(hours.map((each) => `${two(each ?? 0)}${tail}`))}`
}

/** What a simple expression means; undefined where that can't be said in a few words without a doubt. */
export const words = (expression: string): string | undefined => {
  const plain = expression.trim()
  if (plain.toLowerCase() === "@yearly") return "every year on 1 January at 00:00"
  const fields = (macros[plain.toLowerCase()] ?? plain).split(/\s+/u)
  if (fields.length !== 5 && fields.length !== 6) return undefined
  const [second = "", minute = "", hour = "", dayOfMonth = "", month = "", dayOfWeek = ""] =
    fields.length === 5 ? ["0", ...fields] : fields
  if (month !== "*") return undefined
  const on = onDays(dayOfMonth, dayOfWeek)
  if (on === undefined) return undefined
  const recurring = again(second, minute, hour)
  if (recurring !== undefined) return on === "every day" ? recurring : `${recurring}, ${on}`
  const times = atTimes(second, minute, hour)
  return times === undefined ? undefined : `${on} ${times}`
}
