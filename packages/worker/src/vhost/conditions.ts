import { type CompiledTemplate, type ConditionSpec, type FileTest, Pattern } from '@svc/vhosts'
import { readForAnswer as read, type Templates } from './templates.ts'
import type { VariableInput } from './variable-input.ts'
import type { Found } from './web-files.ts'

/** Looks up files for conditions. */
export interface FileLookup {
  look(path: string): Found
  isExecutable(path: string): boolean
}

type Condition = (input: VariableInput) => boolean

/** Compiles the condition of an `if`. */
export function compileCondition(
  spec: ConditionSpec,
  { templates, files }: { readonly templates: Templates; readonly files: FileLookup },
): Condition {
  const test = compileTest(spec, templates, files)
  return spec.isNegated ? (input) => !test(input) : test
}

function compileTest(spec: ConditionSpec, templates: Templates, files: FileLookup): Condition {
  switch (spec.kind) {
    case 'filled': {
      const value = templates.of(spec.value)
      return (input) => {
        const text = read(input, value)
        return text !== '' && text !== '0'
      }
    }
    case 'equal': {
      const value = templates.of(spec.value)
      const text = templates.of(spec.text)
      return (input) => read(input, value) === read(input, text)
    }
    case 'match':
      return compileMatch(new Pattern(spec.pattern), templates.of(spec.value))
    case 'file':
      return compileFileTest(spec.test, templates.of(spec.path), files)
  }
}

function compileMatch(pattern: Pattern, value: CompiledTemplate<VariableInput>): Condition {
  return (input) => {
    if (pattern.test(read(input, value), input)) return true
    // As with nginx, those of the match before are gone.
    input.captures = []
    return false
  }
}

function compileFileTest(test: FileTest, path: CompiledTemplate<VariableInput>, files: FileLookup): Condition {
  return (input) => {
    // L0 would not notice that the file comes or goes.
    input.context.withdrawFromL0()
    const name = read(input, path)
    if (name.includes('\0')) return false
    if (test === 'executable') return files.isExecutable(name)
    const found = files.look(name)
    if (test === 'any') return found === 'file' || found === 'directory' || found === 'other'
    return found === test
  }
}
