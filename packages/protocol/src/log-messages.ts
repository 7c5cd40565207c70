import { type Guarded, guard } from '@svc/core'

const logLine = guard.object({ at: guard.number, level: guard.number, site: guard.string, text: guard.string })

/** Log lines of one process, in order. `dropped`: lines that are missing before them. */
export const logBatch = guard.object({ lines: guard.arrayOf(logLine), dropped: guard.number })
export type LogBatch = Guarded<typeof logBatch>

/** Selects log lines. */
export const logFilter = guard.object({
  /** The lowest level, as a number of pino. */
  level: guard.number,
  /** Ids of sites; undefined: lines of the service and of all sites. */
  sites: guard.optional(guard.arrayOf(guard.string)),
  /** Text that the line contains; "": any. */
  text: guard.string,
})
export type LogFilter = Guarded<typeof logFilter>

/** A place in the order of all lines: by time, then in the order of their arrival. */
const logPlace = guard.object({ at: guard.number, number: guard.number })
export type LogPlace = Guarded<typeof logPlace>

/** Selects lines, of which the newest are wanted. */
export const logQuery = guard.object({
  filter: logFilter,
  /** Milliseconds since the epoch, inclusive. */
  sinceMs: guard.number,
  /** Lines from this place on are left out. */
  before: guard.optional(logPlace),
  limit: guard.number,
  /** Of all lines together; a single line may be longer. */
  maxBytes: guard.number,
})
export type LogQuery = Guarded<typeof logQuery>
export type LogRange = Omit<LogQuery, 'filter'>

/** Lines of the log as JSON objects, the oldest first. */
export const logPage = guard.object({
  lines: guard.arrayOf(guard.string),
  /** Lines that never arrived since the start of the server, because a process wrote too fast. */
  dropped: guard.number,
  /** The place of the oldest line, where there are more before it. */
  next: guard.nullable(logPlace),
})
export type LogPage = Guarded<typeof logPage>
