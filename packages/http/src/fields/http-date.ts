const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const TIME = '(\\d{2}):(\\d{2}):(\\d{2})'
const MONTH = `(${MONTHS.join('|')})`
/** `Sun, 06 Nov 1994 08:49:37 GMT` */
const imfFixdate = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\\d{2}) ${MONTH} (\\d{4}) ${TIME} GMT$`)
/** `Sunday, 06-Nov-94 08:49:37 GMT` */
const rfc850Date = new RegExp(
  `^(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday), (\\d{2})-${MONTH}-(\\d{2}) ${TIME} GMT$`,
)
/** `Sun Nov  6 08:49:37 1994` */
const asctimeDate = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${MONTH} ([ \\d]\\d) ${TIME} (\\d{4})$`)

/** Writes a time in ms since the epoch as an IMF-fixdate (RFC 9110 section 5.6.7); parts of a second are cut off. */
export function formatHttpDate(timeMs: number): string {
  return new Date(timeMs).toUTCString()
}

/**
 * Parses any of the three date formats of RFC 9110 section 5.6.7 to ms since the epoch, or undefined.
 * @param nowMs decides the century of a two-digit year: one more than 50 years ahead is in the past
 */
export function parseHttpDate(text: string, nowMs: number = Date.now()): number | undefined {
  const fixed = imfFixdate.exec(text)
  if (fixed !== null) return timeOf(fixed[3], fixed[2], fixed[1], fixed.slice(4))
  const old = rfc850Date.exec(text)
  if (old !== null) return timeOf(fullYear(Number(old[3]), nowMs), old[2], old[1], old.slice(4))
  const asctime = asctimeDate.exec(text)
  if (asctime !== null) return timeOf(asctime[6], asctime[1], asctime[2], asctime.slice(3))
  return undefined
}

function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + twoDigits
  return year > thisYear + 50 ? year - 100 : year
}

function timeOf(
  year: string | number | undefined,
  month: string | undefined,
  day: string | undefined,
  time: readonly string[],
): number | undefined {
  const [hour, minute, second] = time.map(Number)
  if (hour === undefined || minute === undefined || second === undefined) return undefined
  // 60 is a leap second; it counts as the second after.
  if (hour > 23 || minute > 59 || second > 60) return undefined
  const date = new Date(0)
  date.setUTCFullYear(Number(year), MONTHS.indexOf(month ?? ''), Number(day))
  if (date.getUTCDate() !== Number(day)) return undefined
  return date.setUTCHours(hour, minute, second)
}
