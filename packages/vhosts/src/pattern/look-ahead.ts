import { bytesWhere } from './byte-set.ts'
import { countCaptures, fixedLength, type LookNode, type PatternNode } from './pattern-tree.ts'

const ANY: PatternNode = { kind: 'bytes', set: bytesWhere(() => true) }
const REST: PatternNode = { kind: 'repeat', body: ANY, min: 0, max: Number.POSITIVE_INFINITY, isLazy: false }
const START: PatternNode = { kind: 'assert', at: 'start' }
const END: PatternNode = { kind: 'assert', at: 'end' }

/** A look-ahead at a fixed distance from the start, said from the end: "what lies behind me does (not) begin so". */
function fromTheEnd(look: LookNode, distance: number): PatternNode {
  const skipped: PatternNode = { kind: 'repeat', body: ANY, min: distance, max: distance, isLazy: false }
  const items = [START, ...(distance > 0 ? [skipped] : []), look.body, REST]
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
