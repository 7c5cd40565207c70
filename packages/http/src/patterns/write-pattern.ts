import { type Notation, type TopCode, writeSet } from './char-set.ts'
import { fitsReplication, replicationOf } from './cost.ts'
import { type AssertNode, childrenOf, countCaptures, type PatternNode, type RepeatNode } from './pattern-tree.ts'

/** Past this a repetition is left as it is written: spelled out, it would be a pattern of megabytes. */
const MAX_SPELLED = 4000

/** The grammar to write, and the kind of the texts. */
interface Target {
  readonly notation: Notation
  readonly top: TopCode
}

const ASSERTIONS: Readonly<Record<AssertNode['at'], string>> = {
  start: '^',
  end: '$',
  endOrNewline: '(?=\\n?$)',
  word: '\\b',
  notWord: '\\B',
}

/** Number of nodes of a pattern when its counted repetitions are spelled out. */
export function sizeOf(node: PatternNode): number {
  const inner = childrenOf(node).reduce((sum, child) => sum + sizeOf(child), 1)
  return node.kind === 'repeat' ? inner * replicationOf(node) : inner
}

/** Returns true if a repetition can be spelled out: captures would be renumbered. */
function canSpell(node: RepeatNode): boolean {
  return countCaptures(node) === 0 && sizeOf(node) <= MAX_SPELLED
}

/** Returns true if a count stays that the matcher without backtracking does not take. */
export function keepsLargeCounts(node: PatternNode): boolean {
  const isLarge = node.kind === 'repeat' && !fitsReplication(node) && !canSpell(node)
  return isLarge || childrenOf(node).some(keepsLargeCounts)
}

function needsGroup(node: PatternNode): boolean {
  return (
    node.kind === 'choice' || node.kind === 'sequence' || node.kind === 'repeat' || node.kind === 'assert' || node.kind === 'look'
  )
}

function grouped(node: PatternNode, target: Target): string {
  const text = write(node, target)
  return needsGroup(node) ? `(?:${text})` : text
}

function quantifier({ min, max, isLazy }: RepeatNode): string {
  const lazy = isLazy ? '?' : ''
  if (max === Number.POSITIVE_INFINITY) return (min === 0 ? '*' : min === 1 ? '+' : `{${min},}`) + lazy
  if (min === 0 && max === 1) return `?${lazy}`
  return (min === max ? `{${min}}` : `{${min},${max}}`) + lazy
}

/** `x{2,4}` as `xx(?:x(?:x)?)?`: the matcher without backtracking takes only small counts. */
function spelled(node: RepeatNode, target: Target): string {
  const body = grouped(node.body, target)
  const lazy = node.isLazy ? '?' : ''
  const required = body.repeat(node.min)
  if (node.max === Number.POSITIVE_INFINITY) return `${required}${body}*${lazy}`
  const optional = node.max - node.min
  return `${required}${`(?:${body}`.repeat(optional)}${`)?${lazy}`.repeat(optional)}`
}

/**
 * Writes a pattern. No flags are needed: V8's linear matcher takes neither `i` nor look-aheads.
 */
export function write(node: PatternNode, target: Target): string {
  switch (node.kind) {
    case 'set':
      return writeSet(node.set, target.top, target.notation)
    case 'sequence':
      return node.items.map((item) => (item.kind === 'choice' ? `(?:${write(item, target)})` : write(item, target))).join('')
    case 'choice':
      return node.options.map((option) => write(option, target)).join('|')
    case 'capture':
      return `(${node.name === undefined ? '' : `?<${node.name}>`}${write(node.body, target)})`
    case 'repeat':
      if (!fitsReplication(node) && canSpell(node)) return spelled(node, target)
      return `${grouped(node.body, target)}${quantifier(node)}`
    case 'look':
      return `(?${node.isAhead ? '' : '<'}${node.isNegative ? '!' : '='}${write(node.body, target)})`
    case 'assert':
      return ASSERTIONS[node.at]
  }
}
