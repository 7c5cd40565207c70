/** Units of figures. `ratio` is 0 to 1 and shown in per cent. */
export type Unit = 'count' | 'bytes' | 'ms' | 'secs' | 'ratio' | 'per_sec'

/** A figure as a page shows it. */
interface Shown {
  /** Short, with its unit. */
  readonly text: string
  /** With all its digits. */
  readonly exact: string
}

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const full = new Intl.NumberFormat('en', { maximumFractionDigits: 6 })
const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

/** Steps of a unit: the first whose size the value reaches names it. */
const byteSteps = [
  [2 ** 40, 'TiB'],
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
  [0, 'B'],
] as const
const timeSteps = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
  [0, 'ms'],
] as const

function stepped(value: number, steps: readonly (readonly [number, string])[]): string {
  const [size, name] = steps.find(([least]) => Math.abs(value) >= least) ?? [0, '']
  return `${plain.format(Math.round((value / (size || 1)) * 10) / 10)} ${name}`
}

/** A figure with its unit; null: there is none. */
export function quantity(value: number | null | undefined, unit: Unit): Shown {
  if (value === null || value === undefined || Number.isNaN(value)) return { text: 'no data', exact: 'no data' }
  switch (unit) {
    case 'count':
      return { text: short.format(value), exact: full.format(value) }
    case 'bytes':
      return { text: stepped(value, byteSteps), exact: `${full.format(value)} bytes` }
    case 'ms':
      return { text: stepped(value, timeSteps), exact: `${full.format(value)} ms` }
    case 'secs':
      return { text: stepped(value * 1000, timeSteps), exact: `${full.format(value)} s` }
    case 'ratio':
      return { text: `${plain.format(Math.round(value * 1000) / 10)} %`, exact: `${full.format(value * 100)} %` }
    case 'per_sec':
      return { text: `${short.format(value)}/s`, exact: `${full.format(value)} per second` }
  }
}

/** "1 site", "2 sites". */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${full.format(count)} ${count === 1 ? noun : plural}`
}
