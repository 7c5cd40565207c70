import { dirname, resolve } from 'node:path'
import { translatePattern } from '@svc/http'
import type { PatternSpec, Template, TypeTable } from '../spec/spec.ts'
import type { Place } from '../syntax/config-problem.ts'
import { type Directive, decodeBytes, encodeBytes, type Word } from '../syntax/source-file.ts'
import { shown, type VhostProblems } from '../syntax/vhost-problems.ts'
import { parseTime } from '../values/numbers.ts'
import { readTemplate, variablesOf } from '../values/template.ts'
import type { VariableTable } from '../variables/variable-table.ts'
import type { NeededPaths } from './needed-paths.ts'

/** Shared state of the directive parsers. */
export interface ReadingTools {
  readonly problems: VhostProblems
  readonly variables: VariableTable
  readonly needs: NeededPaths
  /** Of the `types` blocks so far. */
  readonly typeTables: TypeTable[]
  /** The directory that relative paths of a file start from, where it is not the file's own. */
  readonly directories: ReadonlyMap<string, string>
  /** The directive that each value was made from, for checks that need all directives. */
  readonly origins: WeakMap<object, DirectiveCall>
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** One directive with its arguments, for the parser of its rule: reads values, and reports mistakes with their place. */
export class DirectiveCall {
  readonly directive: Directive
  readonly tools: ReadingTools

  constructor(directive: Directive, tools: ReadingTools) {
    this.directive = directive
    this.tools = tools
  }

  get name(): string {
    return this.directive.name.text
  }

  /** Place of the directive. */
  get place(): Place {
    return this.placeOf(this.directive.name)
  }

  /** Texts of the arguments, one character for each byte. */
  get args(): readonly string[] {
    return this.directive.args.map((word) => word.text)
  }

  /** Text of an argument that the number of arguments promises. */
  arg(index: number): string {
    return this.directive.args[index]?.text ?? ''
  }

  /** The same as characters. */
  text(index: number): string {
    return decodeBytes(this.arg(index))
  }

  /** Reports a mistake in an argument, or in the directive. Always undefined. */
  fail(message: string, index?: number, hint?: string): undefined {
    const word = (index === undefined ? undefined : this.directive.args[index]) ?? this.directive.name
    this.tools.problems.add(this.placeOf(word), message, hint)
    return undefined
  }

  /** nginx's words for a value that does not fit. */
  invalidValue(index: number, hint?: string): undefined {
    return this.fail(`invalid value "${shown(this.arg(index))}" in "${this.name}" directive`, index, hint)
  }

  /** nginx's words for an argument that is not known. */
  invalidParameter(index: number, hint?: string): undefined {
    return this.fail(`invalid parameter "${shown(this.arg(index))}" in "${this.name}" directive`, index, hint)
  }

  notice(message: string, subject = `${this.name}: ${message}`): void {
    this.tools.problems.notice(subject, this.place, message)
  }

  /** An argument with variables. */
  template(index: number, text = this.arg(index)): Template | undefined {
    const read = readTemplate(text)
    if ('error' in read) return this.fail(`${read.error} in "${shown(text)}"`, index)
    for (const name of variablesOf(read.template)) this.tools.variables.use(name, this.argPlace(index))
    return read.template
  }

  /** A regular expression. */
  pattern(index: number, isCaseless: boolean, text = this.arg(index)): { pattern: PatternSpec; captures: number } | undefined {
    const { patterns } = this.tools.variables
    const key = `${isCaseless ? '~*' : '~'}${text}`
    const translated = patterns.get(key) ?? translatePattern(text, isCaseless)
    patterns.set(key, translated)
    if ('error' in translated) {
      return this.fail(`invalid regular expression "${shown(text)}": ${translated.error}`, index, translated.hint)
    }
    for (const name of translated.pattern.names) this.tools.variables.define(name)
    return { pattern: translated.pattern, captures: translated.captures }
  }

  /** `on` or `off`. */
  flag(index: number): boolean | undefined {
    const value = this.arg(index).toLowerCase()
    if (value === 'on' || value === 'off') return value === 'on'
    return this.fail(`invalid value "${shown(this.arg(index))}" in "${this.name}" directive, it must be "on" or "off"`, index)
  }

  /** Milliseconds. */
  time(index: number, text = this.arg(index)): number | undefined {
    return parseTime(text) ?? this.invalidValue(index, 'expected a time such as 30s, 5m or 500ms')
  }

  /** One word of a list. */
  oneOf<Known extends string>(index: number, known: readonly Known[]): Known | undefined {
    const value = this.arg(index).toLowerCase()
    const found = known.find((candidate) => candidate.toLowerCase() === value)
    return found ?? this.invalidValue(index, `expected ${known.join(', ')}`)
  }

  /** The values of the arguments from the first on, or of so many; undefined when one of them is wrong. */
  every<Value>(read: (index: number, text: string) => Value | undefined, count = this.args.length): Value[] | undefined {
    const values = this.args.slice(0, count).map((text, index) => read(index, text))
    const known = values.filter((value) => value !== undefined)
    return known.length === values.length ? known : undefined
  }

  /** The name of a field (RFC 9110 section 5.1). */
  fieldName(index: number): string | undefined {
    const name = this.arg(index)
    return token.test(name) ? name : this.fail(`invalid field name "${shown(name)}" in "${this.name}" directive`, index)
  }

  /** The absolute path of a file or directory, with variables, in bytes. Relative ones are relative to the vhost file. */
  pathTemplate(index: number): Template | undefined {
    // nginx takes no path for its own directory, which no author means; here it would be the whole file system.
    if (this.arg(index) === '') return this.invalidValue(index)
    const template = this.template(index)
    const [first, ...more] = template ?? []
    if (typeof first !== 'string' || first.startsWith('/')) return template
    // PHP takes no script whose path has `..` in it.
    const [up = ''] = (more.length === 0 ? /^(?:\.{1,2}(?:\/+|$))*/ : /^(?:\.{1,2}\/+)*/).exec(first) ?? []
    const dir = encodeBytes(resolve(this.baseDir, up))
    return [`${dir === '/' ? '' : dir}/${first.slice(up.length)}`, ...more]
  }

  /** The directory that relative paths start from. */
  get baseDir(): string {
    const { path } = this.directive.source
    return this.tools.directories.get(path) ?? dirname(path)
  }

  /** Place of an argument that the number of arguments promises. */
  argPlace(index: number): Place {
    return this.placeOf(this.directive.args[index] ?? this.directive.name)
  }

  placeOf(word: Word): Place {
    return this.directive.source.placeAt(word.offset)
  }
}
