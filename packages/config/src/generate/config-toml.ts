import { isTable, type Table } from '../values/key-path.ts'

function isTableList(value: unknown): value is readonly Table[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTable)
}

function tableLines(table: Table, name: string): string[] {
  const entries = Object.entries(table).filter(([, value]) => value !== undefined)
  const own = entries.filter(([, value]) => !isTable(value) && !isTableList(value)).map(([key, value]) => tomlLine(key, value))
  const below = entries.flatMap(([key, value]) => {
    const full = name === '' ? key : `${name}.${key}`
    if (isTableList(value)) return value.flatMap((item) => ['', `[[${full}]]`, ...itemLines(item)])
    return isTable(value) ? tableLines(value, full) : []
  })
  const header = name !== '' && own.length > 0 ? ['', `[${name}]`] : []
  return [...header, ...own, ...below]
}

/** Writes an element of a list with nested values inline, so that it can be read and copied as a whole. */
function itemLines(item: Table): string[] {
  return Object.entries(item).flatMap(([key, value]) => (value === undefined ? [] : [tomlLine(key, value)]))
}

/** Writes a configuration, or a part of one, as TOML to be read by people. */
export function configToml(config: object): string {
  return `${tableLines(config as Table, '')
    .join('\n')
    .trim()}\n`
}

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
