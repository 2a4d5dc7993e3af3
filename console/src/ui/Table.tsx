import type { ComponentChildren } from "preact"
import "./Table.css"

interface Props {
  /** What is listed, for who can't see it. */
  readonly label: string
  readonly columns: ReadonlyArray<ComponentChildren>
  /** Rows become cards on a narrow screen, in which cells are told apart by their `data-label`. */
  readonly stacks?: boolean
  /** Rows of `<tr>`. */
  readonly children: ComponentChildren
}

/** A table that scrolls within its own box where it is too wide. */
export const Table = ({ label, columns, stacks = false, children }: Props) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
  <section class={stacks ? "table-box table-stacks" : "table-box"} tabIndex={0} aria-label={label}>
    <table>
      <thead>
        <tr>
          {columns.map((column, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: columns stay where they are
            <th key={index} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
)
