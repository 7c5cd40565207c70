import type { Template } from '../spec/spec.ts'

/** Reads a variable. */
export interface VariableReader<Scope> {
  read(scope: Scope): string
  /** True if all requests for one URL on one address find the same value. */
  readonly isShared: boolean
}

/** Text with variables, ready to be read. */
export type CompiledTemplate<Scope> = VariableReader<Scope>

/** Compiles text with variables. `readerOf` finds the variable of a name; it must know all of them. */
export function compileTemplate<Scope>(
  source: Template,
  readerOf: (name: string) => VariableReader<Scope>,
): CompiledTemplate<Scope> {
  if (source.every((piece) => typeof piece === 'string')) {
    const text = source.join('')
    return { read: () => text, isShared: true }
  }
  const pieces = source.map((piece) => (typeof piece === 'string' ? piece : readerOf(piece.variable)))
  const [first] = pieces
  if (pieces.length === 1 && typeof first === 'object') return first
  return {
    read(scope) {
      let text = ''
      for (const piece of pieces) text += typeof piece === 'string' ? piece : piece.read(scope)
      return text
    },
    // Asked for later: a map may be read before all maps are there.
    get isShared() {
      return pieces.every((piece) => typeof piece === 'string' || piece.isShared)
    },
  }
}

/** Splits text with variables at the first "?" that is written in it; undefined when there is none. */
export function splitAtQuestion(source: Template): readonly [Template, Template] | undefined {
  for (const [index, piece] of source.entries()) {
    const question = typeof piece === 'string' ? piece.indexOf('?') : -1
    if (typeof piece !== 'string' || question === -1) continue
    const before = [...source.slice(0, index), piece.slice(0, question)]
    return [before, [piece.slice(question + 1), ...source.slice(index + 1)]]
  }
  return undefined
}
