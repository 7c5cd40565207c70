const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }

/** Milliseconds of the units of times, the longest first. */
const TIME_UNITS: readonly (readonly [unit: string, milliseconds: number])[] = [
  ['y', 31_536_000_000],
  ['M', 2_592_000_000],
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
]

/** Reads a size in bytes: `512`, `1k`, `10m`, `1g`. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,15})([kmg]?)$/i.exec(text)
  if (match === null) return undefined
  const size = Number(match[1]) * (SIZE_UNITS[(match[2] ?? '').toLowerCase()] ?? 1)
  return Number.isSafeInteger(size) ? size : undefined
}

/**
 * Reads a time: `30`, `30s`, `500ms`, `1h 30m`, `1h30m`. Units stand from long to short, each at most once; a number without a unit is
 * seconds and stands last.
 * @returns milliseconds
 */
export function parseTime(text: string): number | undefined {
  let rest = text
  let total = 0
  let nextUnit = 0
  if (rest === '') return undefined
  while (rest !== '') {
    const match = /^(\d{1,12})(ms|[yMwdhms])?\s*/.exec(rest)
    if (match === null) return undefined
    const index = TIME_UNITS.findIndex(([unit]) => unit === (match[2] ?? 's'))
    if (index < nextUnit || (match[2] === undefined && match[0].length < rest.length)) return undefined
    total += Number(match[1]) * (TIME_UNITS[index]?.[1] ?? 0)
    nextUnit = index + 1
    rest = rest.slice(match[0].length)
  }
  return total <= Number.MAX_SAFE_INTEGER ? total : undefined
}

/** Reads a whole number without sign. */
export function parseCount(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
