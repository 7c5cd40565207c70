import { printable } from '@svc/core'

const SHOWN_APART = new Set(['level', 'time', 'msg', 'err', 'proc'])

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? value : undefined
  } catch {
    // Not a line of ours (a dependency wrote to the stream): it is shown as it is.
    return undefined
  }
}

function field(name: string, value: unknown): string {
  return `${name}=${typeof value === 'string' && !/[\s"=\p{Cc}]/u.test(value) ? value : JSON.stringify(value)}`
}

/** Text that may come from a site or a client: further lines are indented, so that none passes for a line of the server. */
function indented(text: string): string {
  return text.replaceAll('\n', '\n    ')
}

/** Formats one JSON log line for a person: local time, level, text, fields, and the stack of an error below. */
export function prettyLine(line: string): string {
  const entry = parse(line)
  if (entry === undefined) return printable(line)
  const time = typeof entry['time'] === 'string' ? new Date(entry['time']).toTimeString().slice(0, 8) : ''
  const fields = Object.entries(entry).filter(([name]) => !SHOWN_APART.has(name))
  const message = typeof entry['msg'] === 'string' ? indented(entry['msg']) : entry['msg']
  const head = [time, String(entry['level']).toUpperCase().padEnd(5), entry['proc'], message]
  const text = [...head, ...fields.map(([name, value]) => field(name, value))]
    .filter((part) => part !== undefined && part !== '')
    .join(' ')
  const error = entry['err']
  const stack = isRecord(error) ? (error['stack'] ?? error['message']) : undefined
  return printable(stack === undefined ? `${text}\n` : `${text}\n    ${indented(String(stack))}\n`)
}
