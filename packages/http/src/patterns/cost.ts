import { childrenOf, countCaptures, type PatternNode, type RepeatNode } from './pattern-tree.ts'

/**
 * V8's matcher without backtracking refuses patterns whose counted repetitions multiply to more than this
 * (`regexp/experimental/experimental-compiler.cc`).
 */
const MAX_REPLICATION = 16
/** A repetition past this is as good as one without end. */
const WIDE = MAX_REPLICATION
/** Two such repetitions beside each other cost the square of the length of the path, which is bounded by the largest request head. */
const MAX_WIDE = 2

/** How many copies of its body a repetition stands for. */
export function replicationOf({ min, max }: RepeatNode): number {
  return Math.max(1, max === Number.POSITIVE_INFINITY ? min : max)
}

/** Returns true if counted repetitions stay within what the matcher without backtracking takes. */
export function fitsReplication(node: PatternNode, factor = 1): boolean {
  const inner = node.kind === 'repeat' ? factor * replicationOf(node) : factor
  return inner <= MAX_REPLICATION && childrenOf(node).every((child) => fitsReplication(child, inner))
}

/** Returns true if a pattern looks ahead; a `$` that something follows does. */
export function looksAhead(node: PatternNode): boolean {
  const isAhead = node.kind === 'look' ? node.isAhead : node.kind === 'assert' && node.at === 'endOrNewline'
  return isAhead || childrenOf(node).some(looksAhead)
}

/** Returns true if a pattern looks behind at something that it captures. */
export function capturesBehind(node: PatternNode): boolean {
  return (node.kind === 'look' && countCaptures(node.body) > 0) || childrenOf(node).some(capturesBehind)
}

function isWide(node: PatternNode): boolean {
  return node.kind === 'repeat' && node.max > WIDE
}

/** Most wide repetitions on one way through a pattern: the options of a choice are tried one after the other. */
function countWide(node: PatternNode): number {
  const counts = childrenOf(node).map(countWide)
  if (node.kind === 'choice') return Math.max(...counts)
  return counts.reduce((sum, count) => sum + count, isWide(node) ? 1 : 0)
}

function nestsRepeats(node: PatternNode, isInside = false): boolean {
  const isRepeat = node.kind === 'repeat' && node.max > 1
  if (isInside && isRepeat) return true
  return childrenOf(node).some((child) => nestsRepeats(child, isInside || (isRepeat && isWide(node))))
}

function hasRepeat(node: PatternNode): boolean {
  return (node.kind === 'repeat' && node.max > 1) || childrenOf(node).some(hasRepeat)
}

function hasChoiceRepeated(node: PatternNode, isInside = false): boolean {
  // The matcher does not come back to what has been looked at, and looks at a bounded part of the text.
  if (node.kind === 'look' && !hasRepeat(node.body)) return false
  if (isInside && node.kind === 'choice') return true
  return childrenOf(node).some((child) => hasChoiceRepeated(child, isInside || isWide(node)))
}

/** Returns true if backtracking over a pattern is at most quadratic in the length of the path. */
export function isCheapWithBacktracking(node: PatternNode): boolean {
  return !nestsRepeats(node) && !hasChoiceRepeated(node) && countWide(node) <= MAX_WIDE
}
