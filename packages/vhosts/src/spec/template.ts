/** Text with variables: pieces of text, and names without `$`. Captures of regular expressions are "1" to "9". */
export type Template = readonly (string | { readonly variable: string })[]

/**
 * A regular expression, translated to JavaScript's grammar over bytes. Matching one takes bounded time only in a process that runs
 * with V8's `--enable-experimental-regexp-engine-on-excessive-backtracks`.
 */
export interface PatternSpec {
  readonly source: string
  /** "" from vhost files: case is within the pattern, because V8's bounded matcher knows no "i". */
  readonly flags: string
  /** Named captures: they become variables. */
  readonly names: readonly string[]
}
