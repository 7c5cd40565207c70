import type { LogFilter, LogPlace } from '@svc/protocol'
import * as z from 'zod/mini'
import type { Sites } from '../../contract/control-plane.ts'
import { endpoint, ok } from '../../contract/endpoint.ts'
import { requireSite } from '../../contract/own-sites.ts'
import { cursorField, fitted } from '../../contract/pages.ts'
import { digits, success, text } from '../../contract/schemas.ts'
import { AdminError } from '../../errors/errors.ts'

/** Levels by name, as loggers number them. */
const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const
type Level = keyof typeof levels

/** Parameters that select lines. */
export const logFields = () => ({
  level: z.optional(z.enum(Object.keys(levels) as Level[]).check(z.describe('The lowest level to list.'))),
  site: z.optional(text('Id of a site: only its lines.')),
  q: z.optional(text('Text that the line contains.')),
})

/** @throws UNKNOWN_SITE */
export function logFilter(
  {
    level = 'trace',
    site,
    q = '',
  }: { readonly level?: Level | undefined; readonly site?: string | undefined; readonly q?: string | undefined },
  sites: Pick<Sites, 'list'>,
): LogFilter {
  const only = site === undefined ? {} : { sites: [requireSite(sites, site).id] }
  return { level: levels[level], ...only, text: q }
}

/** A line as its process wrote it. */
export function logLine(line: string): object {
  try {
    return JSON.parse(line) as object
  } catch {
    return { msg: line }
  }
}

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Milliseconds since the epoch of a time in RFC 3339 or Unix seconds; NaN: it is neither. */
function timeOf(value: string): number {
  if (/^\d{1,11}(?:\.\d{1,9})?$/.test(value)) return Number(value) * 1000
  return RFC_3339.test(value) ? Date.parse(value) : Number.NaN
}

/** Bytes of the lines of a page, and of one line. */
const MAX_PAGE_BYTES = 64 * 1024
const MAX_LINE_BYTES = 48 * 1024

const cursorOf = ({ at, number }: LogPlace) => `${at}_${number}`

/** @throws BAD_CURSOR */
function placeOf(cursor: string): LogPlace {
  const [, at, number] = /^(-?[\d.e+]{1,24})_(\d{1,15})$/.exec(cursor) ?? []
  const place = { at: Number(at), number: Number(number) }
  if (!Number.isFinite(place.at) || !Number.isFinite(place.number)) throw new AdminError('BAD_CURSOR', {})
  return place
}

export const logs = endpoint({
  method: 'GET',
  path: '/__svc/obs/logs',
  group: 'obs',
  access: 'viewer',
  summary: 'Lists lines of the logs of all processes: the newest ones, the oldest of them first.',
  query: () =>
    z.strictObject({
      ...logFields(),
      since: z.optional(
        text('Time of the oldest line to list: RFC 3339, or Unix seconds.', 40).check(
          z.refine((value) => !Number.isNaN(timeOf(value)), 'must be a time in RFC 3339, or in Unix seconds'),
        ),
      ),
      limit: z.optional(digits('Lines on a page of at most 64 KiB; 200 if it is left out.', 1, 1000)),
      cursor: z.optional(text('The cursor of a page: gets the lines before it.', 64)),
    }),
  response: () =>
    success({
      lines: z.array(
        z.looseObject({ time: z.optional(z.iso.datetime()), level: z.optional(z.string()), msg: z.optional(z.string()) }),
      ),
      dropped: z.int(),
      cursor: cursorField(),
    }),
  async handle(plane, { query }) {
    const since = query.since === undefined ? 0 : timeOf(query.since)
    const { lines, dropped, next } = await plane.logs.page(logFilter(query, plane.sites), {
      sinceMs: since,
      limit: query.limit ?? 200,
      maxBytes: MAX_PAGE_BYTES,
      ...(query.cursor === undefined ? {} : { before: placeOf(query.cursor) }),
    })
    const shown = lines.map((line) => fitted(logLine(line), MAX_LINE_BYTES))
    return ok({ lines: shown, dropped, cursor: next === null ? null : cursorOf(next) })
  },
})
