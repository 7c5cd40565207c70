import { STATUS_CODES } from 'node:http'

/** Reason phrase of a status, or "Unknown" (RFC 9110 section 15). */
export function statusText(status: number): string {
  return STATUS_CODES[status] ?? 'Unknown'
}

const statusLines: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_CODES).map(([status, text]) => [Number(status), `${status} ${text}`]),
)

/** Status and reason phrase as they stand in a status line, e.g. "404 Not Found". */
export function statusLine(status: number): string {
  return statusLines.get(status) ?? `${status} Unknown`
}
