/// <reference path="./toml-parser.d.ts" />
import parser, { type EntryNode, type ValueNode } from 'toml/lib/parser.js'
import type { KeyPath } from '../values/key-path.ts'

/** A place in a text, both counted from 1. */
interface Position {
  readonly line: number
  readonly column: number
}

/** Notes where each key and array element of a text begins. */
class OffsetIndex {
  readonly #offsets = new Map<string, number>()
  /** Number of `[[name]]` headers so far, by path of the array. */
  readonly #tableCounts = new Map<string, number>()

  note(path: KeyPath, offset: number): void {
    const key = JSON.stringify(path)
    if (!this.#offsets.has(key)) this.#offsets.set(key, offset)
  }

  /** Resolves a header's names to a path: a name that is an array of tables means its last table. */
  header(names: readonly string[], isArray: boolean, offset: number): KeyPath {
    const path: (string | number)[] = []
    for (const [index, name] of names.entries()) {
      path.push(name)
      const key = JSON.stringify(path)
      const count = this.#tableCounts.get(key)
      this.note(path, offset)
      if (isArray && index === names.length - 1) {
        this.#tableCounts.set(key, (count ?? 0) + 1)
        path.push(count ?? 0)
        this.note(path, offset)
      } else if (count !== undefined) path.push(count - 1)
    }
    return path
  }

  entry(table: KeyPath, { key, value, offset }: EntryNode): void {
    for (let depth = 1; depth <= key.length; depth++) this.note([...table, ...key.slice(0, depth)], offset)
    this.value([...table, ...key], value)
  }

  value(path: KeyPath, node: ValueNode): void {
    if (node.type === 'InlineTable') for (const entry of node.value) this.entry(path, entry)
    if (node.type !== 'Array') return
    for (const [index, item] of node.value.entries()) {
      this.note([...path, index], item.offset)
      this.value([...path, index], item)
    }
  }

  find(path: KeyPath): number | undefined {
    for (let length = path.length; length > 0; length--) {
      const offset = this.#offsets.get(JSON.stringify(path.slice(0, length)))
      if (offset !== undefined) return offset
    }
    return undefined
  }
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: offset - lineStart + 1 }
}

/**
 * Looks up where keys stand in a TOML text that is known to parse: the key of a value, the value of an array element, the
 * nearest table around a key that is missing, else the start of the text.
 */
export function tomlPositions(text: string): (path: KeyPath) => Position {
  const index = new OffsetIndex()
  let table: KeyPath = []
  for (const node of parser.parse(text)) {
    if (node.type === 'Assign') index.entry(table, node)
    else table = index.header(node.value, node.type === 'ArrayPath', node.offset)
  }
  return (path) => positionAt(text, index.find(path) ?? 0)
}
