import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { useParameter } from '../address/router.ts'

/** A row of filters. Their values are in the address. */
export function Filters({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <form class="filters" aria-label={label} onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  )
}

interface TextFilterProps {
  /** Parameter of the address. */
  readonly name: string
  readonly label: string
  readonly maxLength?: number
  /** True: it holds when the field is left or Enter is pressed: a part of it would be wrong. */
  readonly isWhole?: boolean
}

export function TextFilter({ name, label, maxLength = 200, isWhole = false }: TextFilterProps) {
  const [value, setValue] = useParameter(name)
  const id = useId()
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={value}
        maxLength={maxLength}
        autocomplete="off"
        onInput={({ currentTarget }) => isWhole || setValue(currentTarget.value)}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
      />
    </p>
  )
}

interface ChoiceFilterProps {
  readonly name: string
  readonly label: string
  /** Value and words of each; the first holds when the address names none. */
  readonly choices: readonly (readonly [value: string, text: string])[]
}

export function ChoiceFilter({ name, label, choices }: ChoiceFilterProps) {
  const [value, setValue] = useParameter(name, choices[0]?.[0])
  const id = useId()
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => setValue(currentTarget.value)}>
        {choices.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </p>
  )
}

/** Windows of time that the server keeps figures of. */
export const windows = [
  ['1h', '1 hour'],
  ['5m', '5 minutes'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
] as const
