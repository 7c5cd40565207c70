import { nodeAt, type SchemaNode } from '../schema/schema-tree.ts'
import { isTable, type KeyPath, startsWith } from '../values/key-path.ts'

/** Data without its faulty parts, and the way back from a path in it to the path in the whole. */
interface PrunedData {
  readonly data: unknown
  readonly originalPath: (path: KeyPath) => KeyPath
}

/** The part to remove for a faulty value: the value, or its parent where the value is required. */
function removable(root: SchemaNode, path: KeyPath): KeyPath {
  const last = path.at(-1)
  const parent = path.slice(0, -1)
  const isRequired = typeof last === 'string' && nodeAt(root, parent)?.required?.includes(last) === true
  return isRequired ? removable(root, parent) : path
}

/**
 * Returns a copy of `data` without the values at `faulty` paths, so that the rest can be checked further and every problem of a
 * file is found in one go.
 */
export function pruneFaults(root: SchemaNode, data: unknown, faulty: readonly KeyPath[]): PrunedData {
  const removed = new Set(faulty.map((path) => JSON.stringify(removable(root, path))))
  const keptIndices = new Map<string, number[]>()
  const copy = (value: unknown, path: KeyPath): unknown => {
    const isKept = (part: string | number) => !removed.has(JSON.stringify([...path, part]))
    if (Array.isArray(value)) {
      const kept = [...value.keys()].filter(isKept)
      keptIndices.set(JSON.stringify(path), kept)
      return kept.map((index) => copy(value[index], [...path, index]))
    }
    if (!isTable(value)) return value
    const entries = Object.entries(value).filter(([key]) => isKept(key))
    return Object.fromEntries(entries.map(([key, child]) => [key, copy(child, [...path, key])]))
  }
  const originalPath = (path: KeyPath) => {
    const original: (string | number)[] = []
    for (const part of path) {
      const kept = typeof part === 'number' ? keptIndices.get(JSON.stringify(original)) : undefined
      original.push(kept === undefined ? part : (kept[part as number] ?? part))
    }
    return original
  }
  return { data: copy(data, []), originalPath }
}

/** Returns true if a finding at `path` may only follow from a known fault: one at it, around it or within it. */
export function followsFrom(path: KeyPath, faulty: readonly KeyPath[]): boolean {
  return faulty.some((fault) => startsWith(path, fault) || startsWith(fault, path))
}
