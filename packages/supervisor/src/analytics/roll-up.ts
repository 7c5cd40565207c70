import { readTraffic } from '@svc/telemetry'
import { TrafficBySite } from './live-traffic.ts'
import type { SummedUntil } from './query-plan.ts'
import { DAY_MS, type FileKind, HOUR_MS, type TrafficFiles } from './traffic-files.ts'

/** Sites that are summed up at a time, which bounds the memory. */
const SITES_AT_A_TIME = 2_500

/** A sum that is missing: of minutes over an hour, or of hours over a day. */
interface MissingSum {
  readonly kind: 'hours' | 'days'
  readonly at: number
}

const unitOf = { hours: HOUR_MS, days: DAY_MS } as const
const partsOf = { hours: 'minutes', days: 'hours' } as const

/** The sums of one kind that can be written: behind the last one there is, of times that are over. */
function missingSums(files: Pick<TrafficFiles, 'times'>, kind: MissingSum['kind'], endMs: number): number[] {
  const unit = unitOf[kind]
  const next = (files.times(kind).at(-1) ?? Number.NEGATIVE_INFINITY) + unit
  const times = new Set(files.times(partsOf[kind]).map((at) => at - (at % unit)))
  return [...times].filter((at) => at >= next && at + unit <= endMs)
}

/**
 * Sums up the hours and days that are over, whose minutes are in the files. Those that ended while no server ran are made up for.
 * @param nowMs no minute before this is still to be written
 */
export async function rollUp(files: TrafficFiles, nowMs: number): Promise<SummedUntil> {
  const hours = nowMs - (nowMs % HOUR_MS)
  for (const at of missingSums(files, 'hours', hours)) await write(files, { kind: 'hours', at })
  const days = nowMs - (nowMs % DAY_MS)
  for (const at of missingSums(files, 'days', days)) await write(files, { kind: 'days', at })
  return { hours, days }
}

async function write(files: TrafficFiles, sum: MissingSum): Promise<void> {
  const end = sum.at + unitOf[sum.kind]
  const sites = new Set<string>()
  await each(files, partsOf[sum.kind], sum.at, end, ({ site }) => sites.add(site))
  const payloads: Buffer[] = []
  for (const some of inGroups([...sites], SITES_AT_A_TIME)) {
    const traffic = new TrafficBySite()
    await each(files, partsOf[sum.kind], sum.at, end, ({ site, totals }) => {
      if (some.has(site) && !totals.isAtEnd) traffic.of(site)?.totals.addEncoded(totals)
    })
    if (sum.kind === 'hours')
      await each(files, 'tops', sum.at, end, ({ site, tops }) => {
        if (some.has(site)) traffic.of(site)?.tops.addEncoded(tops)
      })
    payloads.push(...traffic.payloads(sum.kind === 'hours' ? 'both' : 'totals'))
  }
  await files.put(sum.kind, sum.at, payloads)
}

function each(
  files: TrafficFiles,
  kind: FileKind,
  fromMs: number,
  toMs: number,
  visit: Parameters<typeof readTraffic>[1],
): Promise<void> {
  return files.read(kind, fromMs, toMs, (_at, payload) => readTraffic(payload, visit))
}

function inGroups(names: readonly string[], size: number): ReadonlySet<string>[] {
  return Array.from({ length: Math.ceil(names.length / size) }, (_, i) => new Set(names.slice(i * size, (i + 1) * size)))
}
