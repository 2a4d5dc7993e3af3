import { useId } from "preact/hooks"
import { Rule } from "../../../src/Schemas/Policy.ts"
import type { Problem } from "../Client.ts"
import { Button } from "./Button.tsx"
import { addRule, type DraftRule, type KnownTool, matches, moveRule } from "./PolicyDraft.ts"
import { problemOf } from "./Problems.ts"

const mostRules = 100
const mostNamed = 4

export const ruleWords: Readonly<Record<Rule, string>> = {
  allow: "Allow: never asks",
  ask: "Ask: somebody approves each call",
  deny: "Deny: not shown, never called"
}

interface Props {
  readonly rules: ReadonlyArray<DraftRule>
  readonly known: ReadonlyArray<KnownTool>
  readonly problem: Problem | undefined
  readonly onRules: (rules: ReadonlyArray<DraftRule>) => void
}

const isOneOf = (text: string): text is Rule => (Rule.literals as ReadonlyArray<string>).includes(text)

const matchWords = (match: string, known: ReadonlyArray<KnownTool>): string => {
  if (match.trim() === "") return "The name of a tool; * is any text."
  const names = matches(match, known)
  if (names.length === 0) return "No tool that is known now is called so."
  const more = names.length - mostNamed
  return `Now: ${names.slice(0, mostNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}.`
}

/** The rules over tools, in their order. */
export const PolicyRules = ({ rules, known, problem, onRules }: Props) => {
  const list = useId()
  const ofAll = problemOf(problem, "tools")
  const isOfOne = rules.some((_, index) => problemOf(problem, `tools.${index}`) !== undefined)
  const change = (index: number, changed: Partial<DraftRule>) =>
    onRules(rules.map((rule, at) => (at === index ? { ...rule, ...changed } : rule)))
  return (
    <fieldset class="choice-box">
      <legend>Rules over tools</legend>
      <p class="muted">
        Of those that match a tool, a deny anywhere wins, else the first one. A schedule's come before its
        agent's.
      </p>
      <datalist id={list}>
        {known.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {rules.length > 0 && (
        <ol class="policy-rules">
          {rules.map((rule, index) => (
            <li key={rule.key}>
              <Row
                rule={rule}
                number={index + 1}
                isLast={index === rules.length - 1}
                list={list}
                hint={matchWords(rule.match, known)}
                sentence={problemOf(problem, `tools.${index}`)?.replace(/^[\w.]+: /u, "")}
                onChange={(changed) => change(index, changed)}
                onMove={(by) => onRules(moveRule(rules, index, by))}
                onRemove={() => onRules(rules.filter(({ key }) => key !== rule.key))}
              />
            </li>
          ))}
        </ol>
      )}
      {ofAll !== undefined && !isOfOne && (
        <p class="field-problem" role="alert">
          {ofAll}
        </p>
      )}
      <div>
        <Button disabled={rules.length >= mostRules} onClick={() => onRules(addRule(rules))}>
          Add a rule
        </Button>
      </div>
    </fieldset>
  )
}

interface RowProps {
  readonly rule: DraftRule
  readonly number: number
  readonly isLast: boolean
  readonly list: string
  readonly hint: string
  readonly sentence: string | undefined
  readonly onChange: (changed: Partial<DraftRule>) => void
  readonly onMove: (by: -1 | 1) => void
  readonly onRemove: () => void
}

const Row = ({ rule, number, isLast, list, hint, sentence, onChange, onMove, onRemove }: RowProps) => {
  const id = useId()
  return (
    <>
      <div class="policy-rule">
        <input
          type="text"
          list={list}
          autocomplete="off"
          spellcheck={false}
          placeholder="github__delete_*"
          aria-label={`Rule ${number}: name of the tool`}
          aria-describedby={id}
          aria-invalid={sentence !== undefined}
          value={rule.match}
          onInput={(event) => onChange({ match: event.currentTarget.value })}
        />
        <select
          aria-label={`Rule ${number}: what may be done`}
          value={rule.rule}
          onChange={(event) => {
            const { value } = event.currentTarget
            if (isOneOf(value)) onChange({ rule: value })
          }}
        >
          {Rule.literals.map((each) => (
            <option key={each} value={each}>
              {ruleWords[each]}
            </option>
          ))}
        </select>
        <span class="policy-rule-acts">
          <Button
            kind="quiet"
            aria-label={`Rule ${number} up`}
            disabled={number === 1}
            onClick={() => onMove(-1)}
          >
            ↑
          </Button>
          <Button kind="quiet" aria-label={`Rule ${number} down`} disabled={isLast} onClick={() => onMove(1)}>
            ↓
          </Button>
          <Button kind="quiet" aria-label={`Remove rule ${number}`} onClick={onRemove}>
            ✕
          </Button>
        </span>
      </div>
      <div id={id}>
        <p class="field-hint">{hint}</p>
        {sentence !== undefined && (
          <p class="field-problem" role="alert">
            {sentence}
          </p>
        )}
      </div>
    </>
  )
}
