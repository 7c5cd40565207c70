import { isTable } from '../values/key-path.ts'

function tomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key)
}

/** Writes plain data as a TOML value on one line. */
export function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`
  if (!isTable(value)) return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, child]) => `${tomlKey(key)} = ${tomlValue(child)}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}

/** Writes a line `key = value`. */
export function tomlLine(key: string, value: unknown): string {
  return `${tomlKey(key)} = ${tomlValue(value)}`
}
