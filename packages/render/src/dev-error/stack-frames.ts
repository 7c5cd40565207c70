/** One line of a stack trace. */
export interface StackFrame {
  /** Name of the function; "" at top level. */
  readonly name: string
  /** Absolute path, without `file://`. */
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** A frame with the text of its line around the position. */
interface FrameText extends StackFrame {
  readonly before: string
  readonly after: string
}

/** Site code may set any text as a stack: more frames, or longer lines, are not looked at. */
export const MAX_FRAMES = 100
const MAX_LINE_CHARS = 8_192

const start = /^\s{0,16}at /
const position = /:(\d{1,9}):(\d{1,9})\)?$/
/** The parenthesis that opens a position. Paths may hold parentheses of their own: `app/(shop)/page.tsx`. */
const opening = / \((?=\/|file:\/\/|[\w.]+$)/

/** Reads one line of a stack trace, `at name (file:line:column)` or `at file:line:column`; undefined: it names no file. */
export function frameOf(text: string): FrameText | undefined {
  if (text.length > MAX_LINE_CHARS) return undefined
  const at = start.exec(text)
  const found = position.exec(text)
  if (at === null || found === null) return undefined
  const nameStart = at[0].length
  const path = text.slice(nameStart, found.index)
  const open = text.endsWith(')') ? opening.exec(path) : null
  const asyncLength = path.startsWith('async ') ? 'async '.length : 0
  const fileStart = nameStart + (open === null ? asyncLength : open.index + 2)
  const file = text.slice(fileStart, found.index).replace(/^file:\/\//, '')
  return {
    name: open === null ? '' : path.slice(asyncLength, open.index),
    file,
    line: Number(found[1]),
    column: Number(found[2]),
    before: text.slice(0, fileStart),
    after: text.endsWith(')') ? ')' : '',
  }
}

/** Reads the frames of a stack trace (positions already mapped to sources); lines that name no file are left out. */
export function stackFrames(stack: string): readonly StackFrame[] {
  const frames = stack.split('\n').flatMap((line) => {
    const frame = frameOf(line)
    return frame?.file.startsWith('/') === true ? [frame] : []
  })
  return frames.slice(0, MAX_FRAMES)
}

/** The frame to show: the innermost one of the site's own code, else the innermost of all; undefined: there is none. */
export function frameToShow(frames: readonly StackFrame[], root: string): StackFrame | undefined {
  return frames.find((frame) => isOwn(frame, root)) ?? frames[0]
}

/** True if a frame is in the site's own code: below its root and in no package. */
export function isOwn(frame: StackFrame, root: string): boolean {
  return frame.file.startsWith(root.endsWith('/') ? root : `${root}/`) && !frame.file.includes('/node_modules/')
}
