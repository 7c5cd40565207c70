import { writeSet } from './byte-set.ts'
import { fitsReplication, replicationOf } from './cost.ts'
import { type AssertNode, childrenOf, countCaptures, type PatternNode, type RepeatNode } from './pattern-tree.ts'

/** Past this a repetition is left as it is written: spelled out, it would be a pattern of megabytes. */
const MAX_SPELLED = 4000

const ASSERTIONS: Readonly<Record<AssertNode['at'], string>> = {
  start: '^',
  end: '$',
  endOrNewline: '(?=\\n?$)',
  word: '\\b',
  notWord: '\\B',
}

function sizeOf(node: PatternNode): number {
  const inner = childrenOf(node).reduce((sum, child) => sum + sizeOf(child), 1)
  return node.kind === 'repeat' ? inner * replicationOf(node) : inner
}

/** Whether a repetition can be spelled out: captures would be numbered anew. */
function canSpell(node: RepeatNode): boolean {
  return countCaptures(node) === 0 && sizeOf(node) <= MAX_SPELLED
}

/** Whether a count stays that the matcher without backtracking does not take. */
export function keepsLargeCounts(node: PatternNode): boolean {
  const isLarge = node.kind === 'repeat' && !fitsReplication(node) && !canSpell(node)
  return isLarge || childrenOf(node).some(keepsLargeCounts)
}

function needsGroup(node: PatternNode): boolean {
  return (
    node.kind === 'choice' || node.kind === 'sequence' || node.kind === 'repeat' || node.kind === 'assert' || node.kind === 'look'
  )
}

function grouped(node: PatternNode): string {
  const text = write(node)
  return needsGroup(node) ? `(?:${text})` : text
}

function quantifier({ min, max, isLazy }: RepeatNode): string {
  const lazy = isLazy ? '?' : ''
  if (max === Number.POSITIVE_INFINITY) return (min === 0 ? '*' : min === 1 ? '+' : `{${min},}`) + lazy
  if (min === 0 && max === 1) return `?${lazy}`
  return (min === max ? `{${min}}` : `{${min},${max}}`) + lazy
}

/** `x{2,4}` as `xx(?:x(?:x)?)?`: the matcher without backtracking takes only small counts. */
function spelled(node: RepeatNode): string {
  const body = grouped(node.body)
  const lazy = node.isLazy ? '?' : ''
  const required = body.repeat(node.min)
  if (node.max === Number.POSITIVE_INFINITY) return `${required}${body}*${lazy}`
  const optional = node.max - node.min
  return `${required}${`(?:${body}`.repeat(optional)}${`)?${lazy}`.repeat(optional)}`
}

function writeRepeat(node: RepeatNode): string {
  if (!fitsReplication(node) && canSpell(node)) return spelled(node)
  return `${grouped(node.body)}${quantifier(node)}`
}

/**
 * Writes a pattern in JavaScript's grammar. No flags are needed: `i`, like look-ahead, is beyond the matcher without backtracking.
 */
export function write(node: PatternNode): string {
  switch (node.kind) {
    case 'bytes':
      return writeSet(node.set)
    case 'sequence':
      return node.items.map((item) => (item.kind === 'choice' ? `(?:${write(item)})` : write(item))).join('')
    case 'choice':
      return node.options.map(write).join('|')
    case 'capture':
      return `(${node.name === undefined ? '' : `?<${node.name}>`}${write(node.body)})`
    case 'repeat':
      return writeRepeat(node)
    case 'look':
      return `(?${node.isAhead ? '' : '<'}${node.isNegative ? '!' : '='}${write(node.body)})`
    case 'assert':
      return ASSERTIONS[node.at]
  }
}
