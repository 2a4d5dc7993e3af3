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

/** How the console looks, and what this service is. */
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
