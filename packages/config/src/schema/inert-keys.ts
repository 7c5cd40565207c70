import type { KeyPath } from '../values/key-path.ts'
import { type SchemaNode, visitValues } from './schema-tree.ts'

/**
 * Keys that are accepted and checked but have no effect yet; `=value` after a key means that value of it alone. A key covers all
 * that lies below it. Whoever gives a key its effect deletes its line.
 */
export const inertKeys: readonly string[] = ['plugins']

function genericKey(path: KeyPath): string {
  return path.reduce<string>((key, part) => (typeof part === 'number' ? `${key}[]` : key === '' ? part : `${key}.${part}`), '')
}

function covers(inert: string, key: string, value: unknown): boolean {
  const [name = '', only] = inert.split('=')
  if (only !== undefined) return name === key && only === value
  return key === name || key.startsWith(`${name}.`) || key.startsWith(`${name}[`)
}

/** Lists the keys that are set in `data` and have no effect in this version, each once and without array indices. */
export function inertKeysIn(root: SchemaNode, data: unknown): string[] {
  const found = new Set<string>()
  visitValues(root, data, (path, value) => {
    const key = genericKey(path)
    const inert = inertKeys.find((candidate) => covers(candidate, key, value))
    if (inert === undefined) return
    // A list is named as a whole, without the index of the element.
    const name = inert.split('=')[0] ?? ''
    found.add(name + (key.slice(name.length).split('[]')[0] ?? ''))
  })
  return [...found]
}
