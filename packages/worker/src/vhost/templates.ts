import { entryOf } from '@svc/core'
import {
  type CaptureSink,
  type CompiledTemplate,
  compileTemplate,
  type MapSpec,
  type Template,
  ValueMap,
  type WebSpec,
} from '@svc/vhosts'
import { computedVariable } from './computed-variables.ts'
import { type HitRead, type RequestVariable, shared, type VariableInput } from './variable-input.ts'
import { variableReader } from './variables.ts'

/** Texts with variables of one generation, compiled when they are first read. */
export class Templates {
  readonly #maps = new Map<string, MapSpec>()
  readonly #mapReaders = new Map<string, MapReader>()
  readonly #computed = new Map<string, RequestVariable>()
  readonly #compiled = new WeakMap<Template, CompiledTemplate<VariableInput>>()

  constructor({ maps, computed }: Pick<WebSpec, 'maps' | 'computed'>) {
    for (const map of maps) this.#maps.set(map.variable, map)
    for (const spec of computed) {
      this.#computed.set(
        spec.variable,
        computedVariable(spec, (template) => (input) => this.of(template).read(input)),
      )
    }
  }

  of(spec: Template): CompiledTemplate<VariableInput> {
    return entryOf(this.#compiled, spec, () => compileTemplate(spec, this.readerOf))
  }

  /** The reader of a variable. */
  readonly readerOf = (name: string): RequestVariable => {
    const map = this.#maps.get(name)
    return map === undefined
      ? (this.#computed.get(name) ?? variableReader(name))
      : entryOf(this.#mapReaders, name, () => new MapReader(map, this))
  }
}

/** A variable of `map`. Its value is found once for each request. No configuration has circles or long chains of them. */
class MapReader implements RequestVariable {
  readonly #spec: MapSpec
  readonly #templates: Templates
  readonly #values: ValueMap<Template>
  #isShared: boolean | undefined

  constructor(spec: MapSpec, templates: Templates) {
    this.#spec = spec
    this.#templates = templates
    this.#values = new ValueMap({
      texts: spec.texts,
      patterns: spec.patterns,
      fallback: spec.fallback,
      areHostnames: spec.areHostnames,
    })
  }

  get isShared(): boolean {
    if (this.#isShared === undefined) {
      const { source, texts, patterns, fallback } = this.#spec
      const read = [source, fallback, ...texts.map(({ value }) => value), ...patterns.map(({ value }) => value)]
      this.#isShared = read.every((spec) => this.#templates.of(spec).isShared)
    }
    return this.#isShared
  }

  /** Where all values are the same for each request, and the source is made of what such requests have. */
  get ofHit(): RequestVariable['ofHit'] {
    if (this.isShared) return shared((input) => this.read(input)).ofHit
    const { source, texts, patterns, fallback } = this.#spec
    const values = [fallback, ...texts.map(({ value }) => value), ...patterns.map(({ value }) => value)]
    const isFixed = values.every((value) => value.every((piece) => typeof piece === 'string'))
    const pieces = source.map((piece) => (typeof piece === 'string' ? piece : this.#templates.readerOf(piece.variable).ofHit))
    if (!isFixed || pieces.includes(undefined)) return undefined
    return (input) => this.#bound(pieces.map((piece) => (typeof piece === 'function' ? piece(input) : () => piece ?? '')))
  }

  #bound(pieces: readonly HitRead[]): HitRead {
    const values = this.#values
    // No value reads a capture.
    const sink: CaptureSink = { captures: [], setVariable: () => undefined }
    return (input) => values.find(pieces.map((read) => read(input)).join(''), sink).join('')
  }

  read(input: VariableInput): string {
    const { variable, source, isVolatile } = this.#spec
    const known = isVolatile ? undefined : input.variable(variable)
    if (known !== undefined) return known
    const before = input.captures
    const key = this.#templates.of(source).read(input)
    const value = this.#templates.of(this.#values.find(key, input)).read(input)
    // Captures of the key are read by themselves, as if they were the path's.
    if (input.captures !== before && !this.isShared) input.context.withdrawFromL0()
    if (!isVolatile) input.setVariable(variable, value)
    return value
  }
}

/** Reads a text that decides or makes a response: an input that the key of L0 does not hold keeps the response out of L0. */
export function readForAnswer(input: VariableInput, template: CompiledTemplate<VariableInput>): string {
  if (!template.isShared) input.context.withdrawFromL0()
  return template.read(input)
}
