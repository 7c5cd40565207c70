import { type CharSet, oneChar } from './char-set.ts'

/** A parsed regular expression. */
export type PatternNode =
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly kind: 'capture'; readonly name: string | undefined; readonly body: PatternNode }
  | { readonly kind: 'repeat'; readonly body: PatternNode; readonly min: number; readonly max: number; readonly isLazy: boolean }
  /** `endOrNewline`: at the end, or before a line feed that is the last character, which is what `$` means. */
  | { readonly kind: 'assert'; readonly at: 'start' | 'end' | 'endOrNewline' | 'word' | 'notWord' }
  | { readonly kind: 'look'; readonly isAhead: boolean; readonly isNegative: boolean; readonly body: PatternNode }

export type RepeatNode = Extract<PatternNode, { kind: 'repeat' }>
export type AssertNode = Extract<PatternNode, { kind: 'assert' }>
export type LookNode = Extract<PatternNode, { kind: 'look' }>

/** Nodes directly below a node. */
export function childrenOf(node: PatternNode): readonly PatternNode[] {
  switch (node.kind) {
    case 'sequence':
      return node.items
    case 'choice':
      return node.options
    case 'capture':
    case 'repeat':
    case 'look':
      return [node.body]
    case 'set':
    case 'assert':
      return []
  }
}

/** A node with its children replaced. */
export function mapChildren(node: PatternNode, change: (child: PatternNode, index: number) => PatternNode): PatternNode {
  switch (node.kind) {
    case 'sequence':
      return { kind: 'sequence', items: node.items.map(change) }
    case 'choice':
      return { kind: 'choice', options: node.options.map(change) }
    case 'capture':
    case 'repeat':
    case 'look':
      return { ...node, body: change(node.body, 0) }
    case 'set':
    case 'assert':
      return node
  }
}

/** Number of captures in a part of a pattern. */
export function countCaptures(node: PatternNode): number {
  return childrenOf(node).reduce((count, child) => count + countCaptures(child), node.kind === 'capture' ? 1 : 0)
}

/** How many characters a part always takes; undefined when that varies. */
export function fixedLength(node: PatternNode): number | undefined {
  switch (node.kind) {
    case 'set':
      return 1
    case 'assert':
    case 'look':
      return 0
    case 'capture':
      return fixedLength(node.body)
    case 'repeat': {
      const length = fixedLength(node.body)
      return node.min === node.max && length !== undefined ? node.min * length : undefined
    }
    case 'sequence':
      return node.items.reduce<number | undefined>((sum, item) => {
        const length = fixedLength(item)
        return sum === undefined || length === undefined ? undefined : sum + length
      }, 0)
    case 'choice': {
      const [first, ...rest] = node.options.map(fixedLength)
      return rest.every((length) => length === first) ? first : undefined
    }
  }
}

/** A sequence of nodes, without a wrapper around a single one. */
export function sequence(items: readonly PatternNode[]): PatternNode {
  const [only] = items
  return items.length === 1 && only !== undefined ? only : { kind: 'sequence', items }
}

/** Matches one text literally. */
export function literal(text: string): PatternNode {
  return sequence(Array.from({ length: text.length }, (_, at) => ({ kind: 'set', set: oneChar(text.charCodeAt(at)) })))
}

/** Matches a node `min` to `max` times, as often as possible. */
export function repeated(body: PatternNode, min: number, max: number): PatternNode {
  return { kind: 'repeat', body, min, max, isLazy: false }
}
