import { version } from "../../../../src/Schemas/Version.ts"
import { type Theme, theme, themes } from "../../Theme.ts"
import { Facts, Section } from "../../ui/Page.tsx"

const names: Record<Theme, string> = { system: "As the system says", light: "Light", dark: "Dark" }

const links = [
  ["/docs", "Try every endpoint"],
  ["/openapi.json", "OpenAPI document"],
  ["/metrics", "Metrics"],
  ["/health/ready", "Ready?"]
] as const

const shortcuts = [
  ["Runs and approvals: j, k", "The next one, the one before; arrows do the same"],
  ["Runs: Enter, /", "Open it, go to the filters"],
  ["Approvals: a, r, o, ?", "Approve, reject, open its run, show the keys"],
  ["A run: arrows", "From step to step"],
  ["A schedule: arrows, Home, End", "From slot to slot"],
  ["A task: Ctrl or ⌘ and Enter", "Send it"],
  ["Chat: Enter", "Send; Shift and Enter begin a line"],
  ["A dialog: Esc", "Close it"]
] as const

/** How the console looks, what its keys do, and what this service is. */
export const About = () => (
  <>
    <Section title="Appearance">
      <fieldset class="settings-themes">
        <legend class="visually-hidden">Colours</legend>
        {themes.map((each) => (
          <label key={each} class="checkbox">
            <input
              type="radio"
              name="theme"
              checked={theme.value === each}
              onChange={() => {
                theme.value = each
              }}
            />
            {names[each]}
          </label>
        ))}
      </fieldset>
    </Section>
    <Section title="Keyboard">
      <div class="panel">
        <Facts facts={shortcuts} />
      </div>
    </Section>
    <Section title="About">
      <div class="panel stack">
        <Facts facts={[["Version of this console", version]]} />
        <ul class="settings-links">
          {links.map(([address, label]) => (
            <li key={address}>
              <a href={address}>{label}</a>
            </li>
          ))}
        </ul>
      </div>
    </Section>
  </>
)
