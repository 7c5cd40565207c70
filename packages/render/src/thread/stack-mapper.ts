import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping'
import { frameOf, MAX_FRAMES } from '../dev-error/stack-frames.ts'
import { GUEST_SCRIPT_NAME } from './guest-files.ts'

/** Finds the source map mappings of a module, outermost first. */
type MapsOf = (id: string) => readonly string[] | undefined

interface Position {
  readonly line: number
  /** From 0. */
  readonly column: number
}

/** The source maps that the frames of one stack need: each is read and decoded once. */
class FrameMaps {
  readonly #mapsOf: MapsOf
  readonly #decoded = new Map<string, readonly TraceMap[] | undefined>()

  constructor(mapsOf: MapsOf) {
    this.#mapsOf = mapsOf
  }

  has(file: string): boolean {
    return this.#of(file) !== undefined
  }

  /** The position in the source; undefined: the code there was made by the compiler. */
  original(file: string, at: Position): Position | undefined {
    let position: Position | undefined = at
    for (const map of this.#of(file) ?? []) {
      if (position === undefined) return undefined
      const { line, column } = originalPositionFor(map, position)
      position = line === null ? undefined : { line, column }
    }
    return position
  }

  #of(file: string): readonly TraceMap[] | undefined {
    if (!this.#decoded.has(file)) {
      const maps = this.#mapsOf(file)?.map((mappings) => new TraceMap({ version: 3, sources: ['source'], names: [], mappings }))
      this.#decoded.set(file, maps)
    }
    return this.#decoded.get(file)
  }
}

function mapFrame(text: string, maps: FrameMaps): string | undefined {
  const frame = frameOf(text)
  if (frame === undefined) return text
  const { file, line, column, before, after } = frame
  // Frames of the guest itself say nothing to the site's author.
  if (file === GUEST_SCRIPT_NAME) return undefined
  // V8 counts both from 1; a stack that site code wrote may say otherwise.
  if (line < 1 || column < 1 || !maps.has(file)) return text
  const at = maps.original(file, { line, column: column - 1 })
  return at === undefined ? `${before}${file}${after}` : `${before}${file}:${at.line}:${at.column + 1}${after}`
}

/** Rewrites the positions of a stack trace from compiled modules to their sources. Further frames are cut off. */
export function mapStack(stack: string, mapsOf: MapsOf): string {
  const maps = new FrameMaps(mapsOf)
  const lines: string[] = []
  let frameCount = 0
  for (const line of stack.split('\n')) {
    if (frameOf(line) !== undefined && ++frameCount > MAX_FRAMES) break
    const mapped = mapFrame(line, maps)
    if (mapped !== undefined) lines.push(mapped)
  }
  return lines.join('\n')
}
