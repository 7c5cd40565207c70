import { useState } from 'preact/hooks'
import { currentTheme, setTheme, type Theme } from './theme.ts'

const names: readonly (readonly [Theme, string])[] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

/** Chooses light or dark by hand. */
export function ThemeChoice() {
  const [theme, setShown] = useState(currentTheme)
  const choose = (value: string) => {
    const [chosen] = names.find(([name]) => name === value) ?? ['system' as const]
    setTheme(chosen)
    setShown(chosen)
  }
  return (
    <p class="field">
      <label for="theme">Theme</label>
      <select id="theme" value={theme} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {names.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </p>
  )
}
