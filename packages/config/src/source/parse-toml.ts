import { messageOf } from '@svc/core'
import type { ConfigProblem } from '@svc/vhosts'
import toml from 'toml'
import type { Table } from '../values/key-path.ts'

/** A text as data, or its first problem. */
type ParsedToml = { readonly ok: true; readonly data: Table } | { readonly ok: false; readonly problem: ConfigProblem }

interface SyntaxFault {
  readonly location?: { readonly start: { readonly line: number; readonly column: number } }
  readonly found?: string | null
  readonly line?: number
  readonly column?: number
}

/** A longer list of expected characters helps no reader. */
const MAX_EXPECTED = 40

function describeFault(fault: SyntaxFault, message: string): string {
  if (fault.location === undefined) return message.replace(/\.$/, '')
  const found = fault.found === null ? 'end of file' : fault.found === '\n' ? 'end of line' : JSON.stringify(fault.found)
  const expected = /^Expected (.*) but /s.exec(message)?.[1] ?? ''
  if (expected.includes('"true"')) return `unexpected ${found}, expected a value`
  return expected === '' || expected.length > MAX_EXPECTED ? `unexpected ${found}` : `unexpected ${found}, expected ${expected}`
}

/** Parses a TOML text. `file` names it in problems. */
export function parseToml(text: string, file: string): ParsedToml {
  try {
    return { ok: true, data: toml.parse(text) as Table }
  } catch (error) {
    const fault = error as SyntaxFault
    const start = fault.location?.start ?? { line: fault.line ?? 1, column: fault.column ?? 1 }
    const message = describeFault(fault, messageOf(error))
    return { ok: false, problem: { file, line: start.line, column: start.column, path: '', message } }
  }
}

/** Parses the part before the first fault: a command may need one value of a file that is being edited. */
export function parseTomlStart(text: string, file: string): ParsedToml {
  const whole = parseToml(text, file)
  if (whole.ok) return whole
  const before = text.split('\n').slice(0, whole.problem.line - 1)
  const start = parseToml(before.join('\n'), file)
  return start.ok ? start : whole
}
