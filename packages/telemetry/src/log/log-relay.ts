import { BatchRelay, type Clock } from '@svc/core'
import type { LogLine } from './logger.ts'

const MAX_LINES = 200
const MAX_CHARS = 128 * 1024

/** Makes the relay that sends the log lines of a process to another. Lines that are dropped here are in the log itself. */
export function createLogRelay(clock?: Clock): BatchRelay<LogLine> {
  return new BatchRelay({ maxItems: MAX_LINES, maxWeight: MAX_CHARS, weightOf: ({ text }) => text.length, clock })
}
