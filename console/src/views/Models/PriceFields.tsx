import type { Problem } from "../../Client.ts"
import { TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import type { Prices } from "./Key.ts"

interface Props {
  readonly prices: Prices
  readonly onPrices: (prices: Prices) => void
  readonly problem: Problem | undefined
}

/** What tokens cost; all of it empty is what public lists say of the model. */
export const PriceFields = ({ onPrices, prices, problem }: Props) => {
  const field = (label: string, name: keyof Prices) => (
    <TextField
      label={label}
      value={prices[name]}
      onText={(value) => onPrices({ ...prices, [name]: value })}
    />
  )
  return (
    <fieldset class="models-prices">
      <legend>US dollars per million tokens</legend>
      <div class="models-price-row">
        {field("Input", "input")}
        {field("Cached input", "cached")}
        {field("Output", "output")}
      </div>
      <p class="field-hint">Left empty, it is what public lists say of the model.</p>
      {problem?.message.startsWith("pricing") === true && <ProblemNotice problem={problem} />}
    </fieldset>
  )
}
