import type { Config } from '../schema/types.ts'
import { isTable, type Table } from '../values/key-path.ts'
import { tomlLine } from './toml-value.ts'

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

/** An element of a list keeps what is in it on its own lines, so that it can be read and copied as a whole. */
function itemLines(item: Table): string[] {
  return Object.entries(item).flatMap(([key, value]) => (value === undefined ? [] : [tomlLine(key, value)]))
}

/** Writes a configuration as TOML, to be read by people. */
export function configToml(config: Config): string {
  return `${tableLines(config as unknown as Table, '')
    .join('\n')
    .trim()}\n`
}
