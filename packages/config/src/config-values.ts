import { isDeepStrictEqual } from 'node:util'
import { redact } from './redact.ts'
import type { Config } from './schema/types.ts'
import { isTable, type KeyPath, valueAt } from './values/key-path.ts'

/** A value of a configuration: a text, a number, a boolean, a list of such, or an empty table. */
export interface ConfigValue {
  /** Dotted, with the name of a list's item in place of its index: `sites.shop.root`. */
  readonly key: string
  readonly path: KeyPath
  readonly value: unknown
}

/** A value that two configurations do not share. */
interface ChangedValue {
  readonly key: string
  readonly path: KeyPath
  /** Undefined: there is none. Secrets as `***`. */
  readonly before: unknown
  readonly after: unknown
}

/** Fields that name an item of a list. */
const NAMES = ['id', 'name', 'username'] as const

/** The names of the items of a list, or their indices if names are missing or not unique. */
function namesOf(items: readonly unknown[]): string[] {
  for (const field of NAMES) {
    const names = items.map((item) => (isTable(item) ? item[field] : undefined))
    if (names.every((name) => typeof name === 'string') && new Set(names).size === names.length) return names
  }
  return items.map((_, index) => String(index))
}

function collect(found: ConfigValue[], value: unknown, key: string, path: KeyPath): void {
  const child = (part: string | number, name: string, inner: unknown) =>
    collect(found, inner, key === '' ? name : `${key}.${name}`, [...path, part])
  if (Array.isArray(value) && value.some(isTable)) {
    const names = namesOf(value)
    for (const [index, item] of value.entries()) child(index, names[index] ?? '', item)
  } else if (isTable(value) && Object.keys(value).length > 0) {
    for (const [name, inner] of Object.entries(value)) child(name, name, inner)
  } else if (value !== undefined) found.push({ key, path, value })
}

/** The values of a configuration in the order of its schema, secrets included. */
function valuesOf(config: Config): ConfigValue[] {
  const found: ConfigValue[] = []
  collect(found, config, '', [])
  return found
}

/** The values of a configuration in the order of its schema, secrets as `***`. */
export function configValues(config: Config): readonly ConfigValue[] {
  return valuesOf(redact(config))
}

/** The values in which two configurations differ. Secrets are compared, and shown as `***`. */
export function changedValues(before: Config, after: Config): ChangedValue[] {
  const old = new Map(valuesOf(before).map((value) => [value.key, value]))
  const shown = { before: redact(before), after: redact(after) }
  const changed: ChangedValue[] = []
  for (const { key, path, value } of valuesOf(after)) {
    const known = old.get(key)
    old.delete(key)
    if (known !== undefined && isDeepStrictEqual(known.value, value)) continue
    changed.push({ key, path, before: known && valueAt(shown.before, known.path), after: valueAt(shown.after, path) })
  }
  for (const { key, path } of old.values()) changed.push({ key, path, before: valueAt(shown.before, path), after: undefined })
  return changed
}
