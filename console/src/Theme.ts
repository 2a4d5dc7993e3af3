import { effect, signal } from "@preact/signals"

export const themes = ["system", "light", "dark"] as const
export type Theme = (typeof themes)[number]

const key = "agentd.theme"
const kept = themes.find((theme) => theme === localStorage.getItem(key))

/** How the console looks: as the system says, unless somebody chose. */
export const theme = signal<Theme>(kept ?? "system")

effect(() => {
  localStorage.setItem(key, theme.value)
  document.documentElement.dataset.theme = theme.value
})
