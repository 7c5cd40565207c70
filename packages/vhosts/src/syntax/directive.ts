import type { SourceFile } from './source-file.ts'

/** A word of a vhost file: without quotes, escapes resolved, one character for each byte. */
export interface Word {
  readonly text: string
  readonly offset: number
  /** Offset behind its last character. */
  readonly end: number
}

/** A directive as written: nothing about it has been checked. */
export interface Directive {
  readonly source: SourceFile
  readonly name: Word
  readonly args: readonly Word[]
  /** Directives between the braces; undefined when it ends with a semicolon. */
  readonly block: readonly Directive[] | undefined
}
