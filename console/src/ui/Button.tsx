import type { ComponentChildren, JSX } from "preact"

interface Props extends Omit<JSX.IntrinsicElements["button"], "size"> {
  readonly kind?: "primary" | "plain" | "danger" | "quiet"
  /** Under way: it can't be pressed again, and says so. */
  readonly isBusy?: boolean
  readonly children: ComponentChildren
}

/** A button; of `type="button"` unless it says that it submits a form. */
export const Button = ({
  kind = "plain",
  isBusy = false,
  disabled,
  children,
  class: name,
  ...rest
}: Props) => (
  <button
    type="button"
    {...rest}
    class={`button button-${kind} ${name ?? ""}`}
    aria-busy={isBusy}
    disabled={isBusy || disabled === true}
  >
    {children}
  </button>
)
