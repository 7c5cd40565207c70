import { messageOf } from '@svc/core'
import { Cron } from 'croner'

/** The times of a cron expression of 5 or 6 fields, in the local time zone. */
export interface Schedule {
  /** The first time after one, in milliseconds since the epoch. Undefined: there is none. */
  next(afterMs: number): number | undefined
}

/** @throws an error that says what is wrong with the expression */
export function parseSchedule(expression: string): Schedule {
  const cron = new Cron(expression, { paused: true, mode: '5-or-6-parts' })
  return { next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() }
}

/** The mistake in an expression; undefined: there is none. */
export function scheduleProblem(expression: string): string | undefined {
  try {
    return parseSchedule(expression).next(Date.now()) === undefined ? 'names no time that will come' : undefined
  } catch (error) {
    return messageOf(error).replace(/^Cron\w*: /, '')
  }
}
