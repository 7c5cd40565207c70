import type { Case } from './differential.ts'

const joints = ['/', '/', '/', '//', '%2F', '/./', '/../', ''] as const
const queries = ['a=1', '', 'x=%20&a=b', 'kind=one', '&&', 'a'] as const

/** Numbers below `end`, always the same ones for a seed. */
function numbers(seed: number): (end: number) => number {
  let state = seed
  return (end) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % end
  }
}

/** Requests whose paths are put together from words and from all that stands between words in a path. */
export function randomTargets(seed: number, words: readonly string[], count: number): Case[] {
  const below = numbers(seed)
  const one = (items: readonly string[]) => items[below(items.length)] ?? ''
  return Array.from({ length: count }, () => {
    const parts = Array.from({ length: 1 + below(5) }, () => one(joints) + one(words))
    const path = `${parts.join('')}${below(3) === 0 ? '/' : ''}`
    return { target: `${path.startsWith('/') ? '' : '/'}${path}${below(3) === 0 ? `?${one(queries)}` : ''}` }
  })
}
