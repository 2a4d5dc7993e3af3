import { signal } from "@preact/signals"
import { instant, relative } from "../Format.ts"

/** The present, as often as ages are to be told anew. */
export const now = signal(Date.now())

setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 5_000)
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = Date.now()
})

/** How long ago, with the exact time on hover; a dash for null. */
export const Age = ({ at }: { readonly at: Date | null }) =>
  at === null ? (
    <span class="muted">–</span>
  ) : (
    <time dateTime={at.toISOString()} title={instant(at)}>
      {relative(at, Math.max(now.value, Date.now()))}
    </time>
  )

/** The exact time, on one's own clock or that of a time zone. */
export const Moment = ({ at, timeZone }: { readonly at: Date; readonly timeZone?: string }) => (
  <time dateTime={at.toISOString()} title={at.toISOString()}>
    {instant(at, timeZone)}
  </time>
)
