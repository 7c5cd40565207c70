import type { FixedExpires } from '../spec/spec.ts'
import { parseTime } from './numbers.ts'

const SECOND_MS = 1000
const DAY_SECONDS = 86_400

function seconds(text: string): number | undefined {
  if (text.includes('ms')) return undefined
  const time = parseTime(text)
  return time === undefined ? undefined : time / SECOND_MS
}

/**
 * Reads a value of `expires`; undefined: it is none.
 * @param isFromModified it stands behind `modified`
 */
export function readExpires(text: string, isFromModified: boolean): FixedExpires | 'too late' | undefined {
  if (!isFromModified && (text === 'epoch' || text === 'max' || text === 'off')) return { kind: text }
  if (text.startsWith('@')) {
    const daily = isFromModified ? undefined : seconds(text.slice(1))
    if (daily === undefined) return undefined
    return daily > DAY_SECONDS ? 'too late' : { kind: 'daily', seconds: daily }
  }
  const value = seconds(text.replace(/^[+-]/, ''))
  return value === undefined ? undefined : { kind: 'after', seconds: text.startsWith('-') ? -value : value, isFromModified }
}
