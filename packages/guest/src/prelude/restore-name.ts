/** Gives a function or class the name under which a site finds it: the bundler has shortened it. */
export function restoreName(value: unknown, name: string): void {
  if (typeof value === 'function') Object.defineProperty(value, 'name', { value: name, configurable: true })
}
