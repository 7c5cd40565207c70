import { oneByte } from './byte-set.ts'
import type { PatternNode } from './pattern-tree.ts'

const LINE_FEED = 10

/** `\n?` and the very end. */
const NEWLINE_AND_END: PatternNode = {
  kind: 'sequence',
  items: [
    { kind: 'repeat', body: { kind: 'bytes', set: oneByte(LINE_FEED) }, min: 0, max: 1, isLazy: false },
    { kind: 'assert', at: 'end' },
  ],
}

/**
 * Writes `$`, which also matches before a line feed that ends the text, as `\n?` and the end wherever nothing follows it. Nobody sees that the
 * line feed is taken, and there is no need to look ahead. Elsewhere `$` is left as it is.
 */
export function takeFinalNewline(node: PatternNode, isTail = true): PatternNode {
  switch (node.kind) {
    case 'assert':
      return isTail && node.at === 'endOrNewline' ? NEWLINE_AND_END : node
    case 'sequence': {
      const last = node.items.length - 1
      return { kind: 'sequence', items: node.items.map((item, index) => takeFinalNewline(item, isTail && index === last)) }
    }
    case 'choice':
      return { kind: 'choice', options: node.options.map((option) => takeFinalNewline(option, isTail)) }
    case 'capture':
      return { ...node, body: takeFinalNewline(node.body, isTail) }
    case 'repeat':
      return { ...node, body: takeFinalNewline(node.body, false) }
    case 'look':
      return { ...node, body: takeFinalNewline(node.body, node.isAhead) }
    case 'bytes':
      return node
  }
}
