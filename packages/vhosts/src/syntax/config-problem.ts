/** One thing that is wrong with a configuration, and where. */
export interface ConfigProblem {
  /** Absolute path of the file, or the name of another source (`environment variable SVC_SERVER__LISTEN`). */
  readonly file: string
  /** Counted from 1; 0 when the source has no lines or the file as a whole is meant. */
  readonly line: number
  /** Counted from 1; 0 when `line` is 0. */
  readonly column: number
  /** Key as written in messages, such as `sites[0].hostnames[1]`; "" for the file as a whole. */
  readonly path: string
  readonly message: string
  /** Advice, without a full stop. */
  readonly hint?: string
}

/** A place in a source of configuration. */
export type Place = Pick<ConfigProblem, 'file' | 'line' | 'column'>

/** The place of a source that has no lines, or of a file as a whole. */
export function wholeOf(file: string): Place {
  return { file, line: 0, column: 0 }
}

/** Writes a place as `file:line:column`, or the file alone when it has no position. */
export function formatPlace(place: Place): string {
  return place.line === 0 ? place.file : `${place.file}:${place.line}:${place.column}`
}

/** Writes a problem as `file:line:column: path: message (hint)`. */
export function formatProblem(problem: ConfigProblem): string {
  const path = problem.path === '' ? '' : `${problem.path}: `
  const hint = problem.hint === undefined ? '' : ` (${problem.hint})`
  return `${formatPlace(problem)}: ${path}${problem.message}${hint}`
}
