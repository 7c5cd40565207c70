import { type BodyWriter, type HeaderList, type ResponseHead, weaken } from '@svc/http'
import type { CompiledTemplate, SubFilterSpec } from '@svc/vhosts'
import { fieldOf } from '../compression/index.ts'
import type { FilteredBody } from '../request/body-filter.ts'
import { lowerCaseBytes, Replacer } from './replacer.ts'
import { readForAnswer, type Templates } from './templates.ts'
import type { VariableInput } from './variable-input.ts'

/** Fields that a changed body has not. */
const OF_SAME_BODY: ReadonlySet<string> = new Set(['content-length', 'accept-ranges'])
const VALIDATORS: ReadonlySet<string> = new Set(['etag', 'last-modified'])

/** `sub_filter` of a location. */
export class SubFilter {
  readonly #spec: SubFilterSpec
  readonly #pairs: readonly (readonly [text: CompiledTemplate<VariableInput>, replacement: CompiledTemplate<VariableInput>])[]
  readonly #types: ReadonlySet<string>

  constructor(spec: SubFilterSpec, templates: Templates) {
    this.#spec = spec
    this.#pairs = spec.pairs.map(({ text, replacement }) => [templates.of(text), templates.of(replacement)])
    this.#types = new Set(['text/html', ...spec.types])
  }

  /** True if bodies of this type are changed. */
  isFor(input: VariableInput, contentType: string): boolean {
    return this.#isOfType(contentType) && this.#replacements(input).length > 0
  }

  #isOfType(contentType: string): boolean {
    if (this.#types.has('*')) return true
    const [type = ''] = contentType.split(';', 1)
    return this.#types.has(type.trim().toLowerCase())
  }

  /** Undefined: the response stays as it is. */
  open(input: VariableInput, { status, headers }: ResponseHead): FilteredBody | undefined {
    if (status === 204 || status === 304 || !this.#isOfType(fieldOf(headers, 'content-type') ?? '')) return undefined
    const replacements = this.#replacements(input)
    if (replacements.length === 0) return undefined
    const replacer = new Replacer(replacements, this.#spec.isOnce)
    return {
      head: { status, headers: this.#changed(headers) },
      whole: (body) => Buffer.concat([replacer.push(body), replacer.end()]),
      writerTo: (writer) => new ReplacingWriter(writer, replacer),
    }
  }

  #replacements(input: VariableInput): ConstructorParameters<typeof Replacer>[0] {
    return this.#pairs.flatMap(([text, replacement]) => {
      const needle = lowerCaseBytes(Buffer.from(readForAnswer(input, text), 'latin1'))
      return needle.length === 0 ? [] : [{ needle, text: Buffer.from(readForAnswer(input, replacement), 'latin1') }]
    })
  }

  #changed(headers: HeaderList): HeaderList {
    return headers.flatMap((field) => {
      const [name, value] = field
      const lower = name.toLowerCase()
      if (OF_SAME_BODY.has(lower)) return []
      if (!this.#spec.keepsLastModified) return VALIDATORS.has(lower) ? [] : [field]
      return lower === 'etag' ? [[name, weaken(value)] as const] : [field]
    })
  }
}

/** Replaces texts in what is written. */
class ReplacingWriter implements BodyWriter {
  readonly #writer: BodyWriter
  readonly #replacer: Replacer

  constructor(writer: BodyWriter, replacer: Replacer) {
    this.#writer = writer
    this.#replacer = replacer
  }

  write(chunk: Uint8Array, onUnused?: () => void): boolean {
    const changed = this.#replacer.push(chunk)
    onUnused?.()
    return changed.length === 0 || this.#writer.write(changed)
  }

  onDrain(listener: () => void): void {
    this.#writer.onDrain(listener)
  }

  end(chunk?: Uint8Array, trailers?: HeaderList): void {
    const rest = chunk === undefined ? this.#replacer.end() : Buffer.concat([this.#replacer.push(chunk), this.#replacer.end()])
    this.#writer.end(rest.length === 0 ? undefined : rest, trailers)
  }

  abort(): void {
    this.#writer.abort()
  }
}
