import type { ComponentChildren, JSX, KeyboardEventHandler } from "preact"
import { useId } from "preact/hooks"
import type { Problem } from "../Client.ts"
import { problemOf } from "./Problems.ts"

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  /** Of the whole form: what it says of this field, by its name in the contract, is shown here. */
  readonly problem?: Problem | undefined
  readonly name?: string
}

interface Described {
  readonly id: string
  readonly "aria-describedby": string | undefined
  readonly "aria-invalid": boolean
}

/** A labelled field with its hint, and what the service says of it. */
const Field = ({
  label,
  hint,
  problem,
  name,
  children
}: FieldProps & { readonly children: (described: Described) => ComponentChildren }) => {
  const id = useId()
  const sentence = problemOf(problem, name)
  const describedBy = [hint === undefined ? "" : `${id}-hint`, sentence === undefined ? "" : `${id}-problem`]
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        "aria-describedby": describedBy.filter((each) => each !== "").join(" ") || undefined,
        "aria-invalid": sentence !== undefined
      })}
      {hint !== undefined && (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {sentence !== undefined && (
        <p class="field-problem" id={`${id}-problem`} role="alert">
          {sentence}
        </p>
      )}
    </div>
  )
}

interface TextProps extends FieldProps {
  readonly value: string
  readonly type?: "date" | "datetime-local" | "email" | "number" | "password" | "search" | "text" | "url"
  readonly placeholder?: string
  readonly autocomplete?: string
  readonly required?: boolean
  readonly disabled?: boolean
  readonly spellcheck?: boolean
  readonly autofocus?: boolean
  /** The id of a `<datalist>` with what it may well be. */
  readonly list?: string
  readonly min?: number | string
  readonly max?: number | string
  readonly step?: number | string
  readonly onKeyDown?: KeyboardEventHandler<HTMLInputElement>
  readonly onBlur?: () => void
  readonly onText: (value: string) => void
}

export const TextField = ({ label, hint, problem, name, onText, type = "text", ...rest }: TextProps) => (
  <Field label={label} hint={hint} problem={problem} {...(name !== undefined && { name })}>
    {(described) => (
      <input
        autocomplete="off"
        {...rest}
        {...described}
        type={type as "text"}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    )}
  </Field>
)

interface AreaProps extends FieldProps, Omit<JSX.IntrinsicElements["textarea"], "label" | "name" | "value"> {
  readonly value: string
  readonly onText: (value: string) => void
}

export const TextArea = ({ label, hint, problem, name, onText, ...rest }: AreaProps) => (
  <Field label={label} hint={hint} problem={problem} {...(name !== undefined && { name })}>
    {(described) => (
      <textarea rows={4} {...rest} {...described} onInput={(event) => onText(event.currentTarget.value)} />
    )}
  </Field>
)

export interface Choice {
  readonly value: string
  readonly label: string
}

interface SelectProps extends FieldProps {
  readonly value: string
  readonly choices: ReadonlyArray<Choice>
  readonly onChoice: (value: string) => void
  readonly disabled?: boolean
}

export const Select = ({
  label,
  hint,
  problem,
  name,
  value,
  choices,
  onChoice,
  disabled = false
}: SelectProps) => (
  <Field label={label} hint={hint} problem={problem} {...(name !== undefined && { name })}>
    {(described) => (
      <select
        {...described}
        value={value}
        disabled={disabled}
        onChange={(event) => onChoice(event.currentTarget.value)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    )}
  </Field>
)

interface CheckboxProps {
  readonly label: ComponentChildren
  readonly checked: boolean
  readonly onCheck: (checked: boolean) => void
  readonly disabled?: boolean
  /** Takes effect at once, and so looks like a switch. */
  readonly isSwitch?: boolean
}

export const Checkbox = ({ label, checked, onCheck, disabled = false, isSwitch = false }: CheckboxProps) => (
  <label class={isSwitch ? "switch" : "checkbox"}>
    <input
      type="checkbox"
      role={isSwitch ? "switch" : undefined}
      checked={checked}
      disabled={disabled}
      onChange={(event) => onCheck(event.currentTarget.checked)}
    />
    <span>{label}</span>
  </label>
)
