import { currentContext } from '../context/context.ts'
import { cutError } from '../contract/emitted-error.ts'
import type { EmittedError } from '../contract/isolate.ts'
import { cutLine, DROPPED_LEVEL, LogRate } from '../contract/log-rate.ts'
import { host } from './host.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** The timer of this file among those that the host fires: those of the site count from 1. */
export const LOG_TIMER = 0
const REPORT_MS = 1_000

// Taken before code of a site can replace it.
const { now } = Date
const rate = new LogRate(0)
let dropped = 0
let isReportDue = false

/** Writes to the site's log, under the request that the running code works for. Lines that come too fast are counted only. */
export function siteLog(level: LogLevel, text: string): void {
  if (rate.take(text.length, now())) host().log(level, currentContext()?.request?.number ?? 0, cutLine(text))
  else drop()
}

/** Reports the first at once: this isolate may not live until the next report. */
function drop(): void {
  dropped++
  if (isReportDue) return
  reportDropped()
  isReportDue = true
  host().setTimer(LOG_TIMER, REPORT_MS, 0)
}

/** Reports the number of lines dropped since the last report. */
export function reportDropped(): void {
  isReportDue = false
  if (dropped > 0) host().log(DROPPED_LEVEL, 0, String(dropped))
  dropped = 0
}

function describe(error: unknown): { name: string; message: string; stack: string } {
  if (error instanceof Error)
    return { name: String(error.name), message: String(error.message), stack: String(error.stack ?? '') }
  const text = typeof error === 'string' ? error : `A value was thrown that is no Error: ${safeText(error)}`
  return { name: 'Error', message: text, stack: '' }
}

function safeText(value: unknown): string {
  try {
    return typeof value === 'object' ? (JSON.stringify(value) ?? String(value)) : String(value)
  } catch {
    // A value that cannot even be shown must not hide that something was thrown.
    return typeof value
  }
}

/** The `digest` of a thrown value. Its own: one of a polluted `Object.prototype` would make every error a redirect. */
export function digestOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !Object.hasOwn(thrown, 'digest')) return undefined
  const { digest } = thrown as { readonly digest?: unknown }
  return typeof digest === 'string' ? digest : undefined
}

/** Makes any thrown value ready to cross to the host. Never throws, whatever the site threw. */
export function emittedError(error: unknown, where?: string): EmittedError {
  try {
    const digest = digestOf(error)
    const facts = { ...(digest === undefined ? {} : { digest }), ...(where === undefined ? {} : { where }) }
    return cutError({ ...describe(error), ...facts })
  } catch {
    // Getters or proxies of the site threw while they were read.
    return {
      name: 'Error',
      message: 'An error was thrown that cannot be read',
      stack: '',
      ...(where === undefined ? {} : { where }),
    }
  }
}

/** Logs an uncaught error. */
export function logUncaught(error: unknown, what: string): void {
  const { name, message, stack } = emittedError(error)
  siteLog('error', `${what}: ${stack === '' ? `${name}: ${message}` : stack}`)
}
