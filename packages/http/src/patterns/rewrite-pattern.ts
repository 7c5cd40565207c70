import { complement } from './char-set.ts'
import { countCaptures, fixedLength, type LookNode, mapChildren, type PatternNode, repeated, sequence } from './pattern-tree.ts'

/** Any byte: only patterns over bytes have their look-aheads moved. */
const ANY: PatternNode = { kind: 'set', set: complement([], 0xff) }
const REST = repeated(ANY, 0, Number.POSITIVE_INFINITY)
const START: PatternNode = { kind: 'assert', at: 'start' }
const END: PatternNode = { kind: 'assert', at: 'end' }
const LINE_FEED: PatternNode = { kind: 'set', set: [[10, 10]] }

/** `\n?` and the very end. */
const NEWLINE_AND_END: PatternNode = {
  kind: 'sequence',
  items: [repeated(LINE_FEED, 0, 1), END],
}

/**
 * Writes `$`, which also matches before a line feed that ends the text, as `\n?` and the end wherever nothing follows it. The line
 * feed is part of no capture, and no look-ahead is needed. Elsewhere `$` is left as it is.
 */
export function takeFinalNewline(node: PatternNode, isTail = true): PatternNode {
  if (node.kind === 'assert') return isTail && node.at === 'endOrNewline' ? NEWLINE_AND_END : node
  return mapChildren(node, (child, index) => {
    if (node.kind === 'sequence') return takeFinalNewline(child, isTail && index === node.items.length - 1)
    return takeFinalNewline(child, node.kind === 'look' ? node.isAhead : isTail && node.kind !== 'repeat')
  })
}

/** A look-ahead at a fixed distance from the start, said from the end: "what lies behind me does (not) begin so". */
function fromTheEnd(look: LookNode, distance: number): PatternNode {
  const skipped = distance > 0 ? [repeated(ANY, distance, distance)] : []
  const items = [START, ...skipped, look.body, REST]
  return { kind: 'look', isAhead: false, isNegative: look.isNegative, body: { kind: 'sequence', items } }
}

/**
 * Rewrites look-aheads at a fixed distance from an anchored start, such as `^/(?!admin)`, into look-behinds at the end. They
 * say the same, and the matcher without backtracking knows look-behinds alone. Others are left as they are.
 */
export function moveLookAheads(node: PatternNode): PatternNode {
  if (node.kind !== 'sequence') return node
  const [first, ...rest] = node.items
  if (first?.kind !== 'assert' || first.at !== 'start') return node
  const kept: PatternNode[] = [first]
  const moved: PatternNode[] = []
  let distance: number | undefined = 0
  for (const item of rest) {
    const isMovable = item.kind === 'look' && item.isAhead && countCaptures(item.body) === 0
    if (isMovable && distance !== undefined) moved.push(fromTheEnd(item, distance))
    else {
      kept.push(item)
      const length: number | undefined = fixedLength(item)
      distance = distance === undefined || length === undefined ? undefined : distance + length
    }
  }
  return moved.length === 0 ? node : { kind: 'sequence', items: [...kept, REST, END, ...moved] }
}

/**
 * Returns the pattern that matches a text read backwards exactly where `node` matches the text. Look-aheads become look-behinds, which
 * linear matchers can handle; a pattern with look-behinds or captures must not be reversed.
 */
export function reversed(node: PatternNode): PatternNode {
  if (node.kind === 'assert') return node.at === 'start' ? END : node.at === 'end' ? START : node
  const changed = mapChildren(node, (child) => reversed(child))
  if (changed.kind === 'sequence') return sequence(changed.items.toReversed())
  return changed.kind === 'look' ? { ...changed, isAhead: !changed.isAhead } : changed
}
