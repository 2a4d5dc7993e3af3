import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"

interface Props {
  readonly title: string
  /** A link to where this is one of many. */
  readonly back?: { readonly href: string; readonly label: string }
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A view: its heading, which is the title of the window too, what can be done, and what there is. */
export const Page = ({ title, back, note, actions, children }: Props) => {
  useEffect(() => {
    document.title = `${title} · agentd`
  }, [title])
  return (
    <>
      <header class="page-head">
        <div class="page-title">
          {back !== undefined && (
            <a class="page-back" href={back.href}>
              ← {back.label}
            </a>
          )}
          <h1 tabIndex={-1}>{title}</h1>
          {note !== undefined && <div class="page-note">{note}</div>}
        </div>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

/** A part of a view under a heading of its own. */
export const Section = ({
  title,
  actions,
  children
}: {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) => (
  <section class="section">
    <header class="section-head">
      <h2>{title}</h2>
      {actions !== undefined && <div class="page-actions">{actions}</div>}
    </header>
    {children}
  </section>
)

/** What a list says that has nothing in it: what would be there, and how to make the first. */
export const Empty = ({
  title,
  children
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
)

/** Stands where rows will be, so that nothing moves when they come. */
export const Loading = ({ rows = 4 }: { readonly rows?: number }) => (
  <div class="loading" role="status" aria-label="Loading">
    {Array.from({ length: rows }, (_, row) => row).map((row) => (
      <div key={row} class="loading-row" />
    ))}
  </div>
)

/** Names and values, one below the other. */
export const Facts = ({
  facts
}: {
  readonly facts: ReadonlyArray<readonly [name: string, value: ComponentChildren]>
}) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
