import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping'
import { GUEST_SCRIPT_NAME } from '../guest-files.ts'

/** Finds the source map mappings of a module, outermost first. */
export type MapsOf = (id: string) => readonly string[] | undefined

const frame = /^(\s+at .*?\(?)((?:\/|guest\.js)[^():]*):(\d+):(\d+)(\)?)$/

function position(mappings: string, line: number, column: number): { line: number; column: number } | undefined {
  const map = new TraceMap({ version: 3, sources: ['source'], names: [], mappings })
  const found = originalPositionFor(map, { line, column })
  return found.line === null ? undefined : { line: found.line, column: found.column }
}

function mapFrame(text: string, mapsOf: MapsOf): string | undefined {
  const match = frame.exec(text)
  if (match === null) return text
  const [, before = '', file = '', line = '', column = '', after = ''] = match
  // Frames of the guest itself say nothing to the site's author.
  if (file === GUEST_SCRIPT_NAME) return undefined
  const maps = mapsOf(file)
  if (maps === undefined) return text
  let at: { line: number; column: number } | undefined = { line: Number(line), column: Number(column) - 1 }
  for (const mappings of maps) at = at === undefined ? undefined : position(mappings, at.line, at.column)
  return at === undefined ? `${before}${file}${after}` : `${before}${file}:${at.line}:${at.column + 1}${after}`
}

/** Rewrites the positions of a stack trace from compiled modules to their sources. */
export function mapStack(stack: string, mapsOf: MapsOf): string {
  const lines: string[] = []
  for (const line of stack.split('\n')) {
    const mapped = mapFrame(line, mapsOf)
    if (mapped !== undefined) lines.push(mapped)
  }
  return lines.join('\n')
}
