// Replaces positions in bundles by those of the sources, in the events of a test run: in errors, and in texts that a test prints.
// Node.js would do that in the process of each test; there it reads the maps of all modules that are loaded.
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { Transform } from 'node:stream'

const POSITION = /(?:file:\/\/)?(\/[^\s:()]+\.mjs):(\d+):(\d+)/g
/** Causes of causes beyond this are printed as they are. */
const MAX_CAUSES = 10
/** Maps by path of their bundle; null without one. */
const maps = new Map()

function mapOf(file) {
  if (!maps.has(file)) {
    const path = `${file}.map`
    maps.set(file, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : null)
  }
  return maps.get(file)
}

/** @returns the text, with positions of sources in place of those of bundles */
export function withSourcePositions(text) {
  return text.replace(POSITION, (position, file, line, column) => {
    const { originalSource, originalLine, originalColumn } = mapOf(file)?.findEntry(line - 1, column - 1) ?? {}
    if (originalSource === undefined) return position
    return `${resolve(dirname(file), originalSource)}:${originalLine + 1}:${originalColumn + 1}`
  })
}

function mapError(error) {
  for (let [one, depth] = [error, 0]; one instanceof Error && depth < MAX_CAUSES; [one, depth] = [one.cause, depth + 1]) {
    const stack = Object.getOwnPropertyDescriptor(one, 'stack')
    // In an error of another process it is read-only.
    if (typeof stack?.value === 'string' && stack.configurable) {
      Object.defineProperty(one, 'stack', { ...stack, value: withSourcePositions(stack.value) })
    }
  }
}

/** @returns the data of an event about a failed test, which names its place */
function ofFailure(data) {
  mapError(data.details?.error)
  const [, file, line, column] = /^(.*):(\d+):(\d+)$/.exec(withSourcePositions(`${data.file}:${data.line}:${data.column}`)) ?? []
  return file === undefined ? data : { ...data, file, line: Number(line), column: Number(column) }
}

/** A stream for the events of `run` of node:test. */
export function sourcePositions() {
  return new Transform({
    objectMode: true,
    transform({ type, data }, _encoding, done) {
      const isText = type === 'test:stdout' || type === 'test:stderr'
      const text = isText ? { ...data, message: withSourcePositions(data.message) } : data
      done(null, { type, data: type === 'test:fail' ? ofFailure(data) : text })
    },
  })
}
