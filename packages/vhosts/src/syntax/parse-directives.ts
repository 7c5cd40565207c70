import { formatPlace } from './config-problem.ts'
import { Lexer, type ReportAt } from './lexer.ts'
import type { Directive, SourceFile, Word } from './source-file.ts'
import { shown } from './vhost-problems.ts'

/** Directives of a file. */
interface ParsedDirectives {
  readonly directives: readonly Directive[]
  /** False: the end of the file could not be read, and blocks that were open there are left out. */
  readonly isWhole: boolean
}

interface OpenBlock {
  readonly words: readonly Word[]
  readonly items: Directive[]
}

/** Builds the tree of directives while words come in. */
class TreeBuilder {
  readonly #source: SourceFile
  readonly #report: ReportAt
  readonly #isDirectiveName: (name: string) => boolean
  /** The complete blocks: of a file that cannot be read to its end, open ones would only report missing parts. */
  readonly root: Directive[] = []
  readonly #open: OpenBlock[] = []
  #words: Word[] = []

  constructor(source: SourceFile, report: ReportAt, isDirectiveName: (name: string) => boolean) {
    this.#source = source
    this.#report = report
    this.#isDirectiveName = isDirectiveName
  }

  word(word: Word): void {
    const [name] = this.#words
    const before = this.#words.at(-1)
    if (name !== undefined && before !== undefined && this.#beginsDirective(name, before, word)) {
      this.#report(before.end, `directive "${shown(name.text)}" is not terminated by ";"`)
      this.semicolon(before.end)
    }
    this.#words.push(word)
  }

  semicolon(offset: number): void {
    const [name, ...args] = this.#words
    if (name === undefined) this.#report(offset, 'unexpected ";"')
    else this.#items.push({ source: this.#source, name, args, block: undefined })
    this.#words = []
  }

  /** True if the block that is to be opened is a script: it has a grammar of its own. */
  get opensCode(): boolean {
    return this.#words[0]?.text.endsWith('_by_lua_block') === true
  }

  open(offset: number): void {
    if (this.#words.length === 0) this.#report(offset, 'unexpected "{"')
    this.#open.push({ words: this.#words, items: [] })
    this.#words = []
  }

  close(offset: number): void {
    this.#endWords('unexpected "}"', offset, 'is a ";" missing before it?')
    const closed = this.#open.pop()
    if (closed === undefined) {
      this.#report(offset, 'unexpected "}"')
      return
    }
    this.#closeBlock(closed)
  }

  end(offset: number): Directive[] {
    this.#endWords('unexpected end of file, expecting ";" or "}"', offset)
    const innermost = this.#open.at(-1)
    if (innermost !== undefined) {
      const [name] = innermost.words
      const opened = name === undefined ? '' : `"${shown(name.text)}" at ${formatPlace(this.#source.placeAt(name.offset))}`
      this.#report(offset, 'unexpected end of file, expecting "}"', `the block ${opened} is not closed`)
    }
    for (let block = this.#open.pop(); block !== undefined; block = this.#open.pop()) this.#closeBlock(block)
    return this.root
  }

  get #items(): Directive[] {
    return this.#open.at(-1)?.items ?? this.root
  }

  #closeBlock({ words, items }: OpenBlock): void {
    const [name, ...args] = words
    if (name !== undefined) this.#items.push({ source: this.#source, name, args, block: items })
  }

  /** Words that no semicolon ends: one is missing, and they are read as if it were there. */
  #endWords(message: string, offset: number, hint?: string): void {
    const last = this.#words.at(-1)
    if (last === undefined) return
    this.#report(offset, message, hint)
    this.semicolon(last.end)
  }

  /** Returns true if a word is the first of its line and names a directive: then the semicolon of the line before is missing. */
  #beginsDirective(name: Word, before: Word, word: Word): boolean {
    if (!this.#isDirectiveName(word.text) || !this.#isDirectiveName(name.text)) return false
    return this.#source.text.slice(before.end, word.offset).includes('\n')
  }
}

/**
 * Reads a vhost file into its directives. Never throws: what cannot be read is reported, and the rest is read as far as it
 * makes sense. Not recursive, so that nesting has no limit.
 * @param isDirectiveName tells names of directives: they show where a semicolon is missing
 */
export function parseDirectives(
  source: SourceFile,
  report: ReportAt,
  isDirectiveName: (name: string) => boolean,
): ParsedDirectives {
  const lexer = new Lexer(source.text, report)
  const builder = new TreeBuilder(source, report, isDirectiveName)
  for (;;) {
    const token = lexer.next()
    if (token.kind === 'cut') return { directives: builder.root, isWhole: false }
    if (token.kind === 'end') return { directives: builder.end(token.offset), isWhole: true }
    if (token.kind === 'word') builder.word(token.word)
    else if (token.kind === ';') builder.semicolon(token.offset)
    else if (token.kind === '{') {
      if (builder.opensCode) lexer.skipCode()
      builder.open(token.offset)
    } else builder.close(token.offset)
  }
}
