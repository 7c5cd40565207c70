/** The way from the top of a configuration to a value: keys and array indices. */
export type KeyPath = readonly (string | number)[]

/** A table of a parsed file. */
export type Table = Record<string, unknown>

/** Returns true if a value is a table: an object that is neither an array nor a date. */
export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

/** Writes a path as it is shown to people: `sites[0].env.NAME`. */
export function formatPath(path: KeyPath): string {
  let written = ''
  for (const part of path) {
    if (typeof part === 'number') written += `[${part}]`
    else {
      const key = /^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part)
      written += written === '' ? key : `.${key}`
    }
  }
  return written
}

/** Returns the value at a path, or undefined when there is none. */
export function valueAt(data: unknown, path: KeyPath): unknown {
  let value = data
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string | number, unknown>)[part]
  }
  return value
}

/** Sets the value at a path whose parent exists. */
export function setAt(data: unknown, path: KeyPath, value: unknown): void {
  const parent = valueAt(data, path.slice(0, -1))
  const last = path.at(-1)
  if (last !== undefined && typeof parent === 'object' && parent !== null)
    (parent as Record<string | number, unknown>)[last] = value
}

/** Returns true if `path` is `prefix` or lies below it. */
export function startsWith(path: KeyPath, prefix: KeyPath): boolean {
  return prefix.length <= path.length && prefix.every((part, index) => part === path[index])
}
