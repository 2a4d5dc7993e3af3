export interface Tab {
  readonly href: string
  readonly label: string
  readonly isCurrent: boolean
}

/** Parts of a view, each with an address. */
export const Tabs = ({ label, tabs }: { readonly label: string; readonly tabs: ReadonlyArray<Tab> }) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ href, isCurrent, label }) => (
      <a key={href} href={href} aria-current={isCurrent ? "page" : undefined}>
        {label}
      </a>
    ))}
  </nav>
)
