import { useEffect, useRef } from "preact/hooks"

export interface Tab {
  readonly href: string
  readonly label: string
  readonly isCurrent: boolean
}

/** Parts of a view, each with an address. */
export const Tabs = ({ label, tabs }: { readonly label: string; readonly tabs: ReadonlyArray<Tab> }) => {
  const all = useRef<HTMLElement>(null)
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href
  useEffect(() => {
    if (current !== undefined) {
      all.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" })
    }
  }, [current])
  return (
    <nav ref={all} class="tabs" aria-label={label}>
      {tabs.map(({ href, isCurrent, label }) => (
        <a key={href} href={href} aria-current={isCurrent ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  )
}
