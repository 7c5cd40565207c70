export type Theme = 'system' | 'light' | 'dark'

const KEY = 'svc-theme'

export function currentTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

/** Shows the page in a theme, and keeps it. Charts draw again: their colours are painted. */
export function setTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  applyTheme()
  dispatchEvent(new Event('svc:theme'))
}

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = currentTheme()
}
