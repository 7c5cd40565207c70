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

/** `at name (file:line:column)` or `at file:line:column`. */
const frameLine = /^\s*at (?:(.*?) \()?(?:file:\/\/)?(\/[^()]*?):(\d+):(\d+)\)?$/

/** Reads the frames of a stack trace (positions already mapped to sources); lines that name no file are left out. */
export function stackFrames(stack: string): readonly StackFrame[] {
  return stack.split('\n').flatMap((line) => {
    const match = frameLine.exec(line)
    if (match === null) return []
    const [, name = '', file = '', row = '', column = ''] = match
    return [{ name: name.replace(/^async /, ''), file, line: Number(row), column: Number(column) }]
  })
}

/** The frame to show: the innermost one of the site's own code, else the innermost of all; undefined: there is none. */
export function frameToShow(frames: readonly StackFrame[], root: string): StackFrame | undefined {
  return frames.find((frame) => isOwn(frame, root)) ?? frames[0]
}

/** Whether a frame is in the site's own code: below its root and in no package. */
export function isOwn(frame: StackFrame, root: string): boolean {
  return frame.file.startsWith(root.endsWith('/') ? root : `${root}/`) && !frame.file.includes('/node_modules/')
}
