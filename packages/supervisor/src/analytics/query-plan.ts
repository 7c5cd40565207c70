import { DAY_MS, type FileKind, HOUR_MS } from './traffic-files.ts'

/** A part of a range of time, and the files that have it. */
export interface PlannedPart {
  readonly kind: Exclude<FileKind, 'tops'>
  readonly fromMs: number
  readonly toMs: number
}

/** Ends of the times that have been summed up. */
export interface SummedUntil {
  readonly hours: number
  readonly days: number
}

const units = { days: DAY_MS, hours: HOUR_MS, minutes: 60_000 } as const

/** Covers a range with the coarsest files: whole days, whole hours at both ends, and minutes for the rest. In the order of time. */
export function planRange(
  fromMs: number,
  toMs: number,
  until: SummedUntil,
  coarsest: PlannedPart['kind'] = 'days',
): PlannedPart[] {
  if (fromMs >= toMs) return []
  if (coarsest === 'minutes') return [{ kind: 'minutes', fromMs, toMs }]
  const unit = units[coarsest]
  const finer = coarsest === 'days' ? 'hours' : 'minutes'
  const start = Math.ceil(fromMs / unit) * unit
  const end = Math.min(Math.floor(toMs / unit) * unit, until[coarsest])
  if (start >= end) return planRange(fromMs, toMs, until, finer)
  return [
    ...planRange(fromMs, start, until, finer),
    { kind: coarsest, fromMs: start, toMs: end },
    ...planRange(end, toMs, until, finer),
  ]
}
