import { SiteError } from '../errors/errors.ts'
import type { CharSet, Syntax } from './syntax.ts'

/** One step of a program. Steps without `next` go on with the step behind them. */
type Step =
  | { readonly op: 'char'; readonly set: CharSet; readonly ascii: Uint8Array }
  | { readonly op: 'split'; left: number; right: number }
  | { readonly op: 'jump'; to: number }
  | { readonly op: 'look'; readonly program: number; readonly isNegated: boolean }
  | { readonly op: 'start' }
  | { readonly op: 'end' }
  | { readonly op: 'accept' }

/** Steps, and which of them jump back. */
interface Program {
  readonly steps: readonly Step[]
  readonly loops: readonly number[]
}

/** Steps of all programs together; a pattern past it costs more memory and time than a matcher should. */
const MAX_STEPS = 2000

const MAX_VISITS = 20_000

/** Compiles syntax to programs: those of lookaheads first, the main one last. */
class Compiler {
  readonly programs: Program[] = []
  #visits = 0
  #count = 0

  compile(syntax: Syntax): number {
    const steps: Step[] = []
    this.#emit(syntax, steps)
    steps.push({ op: 'accept' })
    const loops: number[] = []
    for (const [index, step] of steps.entries()) if (step.op === 'jump' && step.to <= index) loops.push(index)
    return this.programs.push({ steps, loops }) - 1
  }

  #push(steps: Step[], step: Step): void {
    if (++this.#count > MAX_STEPS) throw new SiteError('SITE_BAD_PATTERN', 'the pattern is too large')
    steps.push(step)
  }

  #emit(syntax: Syntax, steps: Step[]): void {
    // Counted here too: repetitions of nothing make no steps but take their time.
    if (++this.#visits > MAX_VISITS) throw new SiteError('SITE_BAD_PATTERN', 'the pattern is too large')
    switch (syntax.kind) {
      case 'empty':
        return
      case 'set':
        this.#push(steps, { op: 'char', set: syntax.set, ascii: asciiTable(syntax.set) })
        return
      case 'sequence':
        for (const item of syntax.items) this.#emit(item, steps)
        return
      case 'choice':
        this.#emitChoice(syntax.options, steps)
        return
      case 'repeat':
        this.#emitRepeat(syntax, steps)
        return
      case 'lookahead':
        this.#push(steps, { op: 'look', program: this.compile(syntax.item), isNegated: syntax.isNegated })
        return
      case 'start':
      case 'end':
        this.#push(steps, { op: syntax.kind })
    }
  }

  #emitChoice(options: readonly Syntax[], steps: Step[]): void {
    const jumps: { op: 'jump'; to: number }[] = []
    for (const [index, option] of options.entries()) {
      if (index === options.length - 1) this.#emit(option, steps)
      else {
        const split = { op: 'split' as const, left: steps.length + 1, right: 0 }
        this.#push(steps, split)
        this.#emit(option, steps)
        const jump = { op: 'jump' as const, to: 0 }
        this.#push(steps, jump)
        jumps.push(jump)
        split.right = steps.length
      }
    }
    for (const jump of jumps) jump.to = steps.length
  }

  #emitRepeat({ item, min, max }: Extract<Syntax, { kind: 'repeat' }>, steps: Step[]): void {
    for (let i = 0; i < min; i++) this.#emit(item, steps)
    if (max === undefined) {
      const start = steps.length
      const split = { op: 'split' as const, left: start + 1, right: 0 }
      this.#push(steps, split)
      this.#emit(item, steps)
      this.#push(steps, { op: 'jump', to: start })
      split.right = steps.length
      return
    }
    const splits: { op: 'split'; left: number; right: number }[] = []
    for (let i = min; i < max; i++) {
      const split = { op: 'split' as const, left: steps.length + 1, right: 0 }
      this.#push(steps, split)
      splits.push(split)
      this.#emit(item, steps)
    }
    for (const split of splits) split.right = steps.length
  }
}

function hasChar(set: CharSet, code: number): boolean {
  let isIn = false
  for (let i = 0; i < set.ranges.length && !isIn; i++) {
    const range = set.ranges[i] as readonly [number, number]
    isIn = code >= range[0] && code <= range[1]
  }
  return isIn !== set.isNegated
}

function asciiTable(set: CharSet): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => (hasChar(set, code) ? 1 : 0))
}

/** Whether each step of one program leads to a match from one position of the text, as 0 or 1. */
type Row = Uint8Array

/** One position of the text. `code` is -1 at its end. */
interface Here {
  readonly code: number
  readonly isStart: boolean
  /** Rows of the programs at this position, filled in order. */
  readonly rows: readonly Row[]
}

function leads(step: Step, index: number, row: Row, nextRow: Row, here: Here): number {
  switch (step.op) {
    case 'char': {
      if (here.code < 0) return 0
      const fits = here.code < 128 ? step.ascii[here.code] === 1 : hasChar(step.set, here.code)
      return fits ? (nextRow[index + 1] as number) : 0
    }
    case 'split':
      return (row[step.left] as number) | (row[step.right] as number)
    case 'jump':
      return row[step.to] as number
    case 'look': {
      const isThere = here.rows[step.program]?.[0] === 1
      return isThere !== step.isNegated ? (row[index + 1] as number) : 0
    }
    case 'start':
      return here.isStart ? (row[index + 1] as number) : 0
    case 'end':
      return here.code === -1 ? (row[index + 1] as number) : 0
    case 'accept':
      return 1
  }
}

/** Fills a row from the back. A loop leads back to a step that comes later in this order, so its end may be due again. */
function fillRow({ steps, loops }: Program, row: Row, nextRow: Row, here: Here): void {
  row.fill(0)
  for (let isDue = true; isDue; ) {
    for (let i = steps.length - 1; i >= 0; i--) {
      if (row[i] === 0 && leads(steps[i] as Step, i, row, nextRow, here) === 1) row[i] = 1
    }
    isDue = false
    for (const loop of loops) isDue ||= row[loop] === 0 && leads(steps[loop] as Step, loop, row, nextRow, here) === 1
  }
}

/**
 * Compiles syntax to a test for whole texts. It reads the text once from its end and knows for every step of the pattern
 * whether it leads to a match from there, so that its time is bounded by the length of the text times the size of the
 * pattern: patterns are written by site authors and run in a process that serves all sites.
 * @throws SITE_BAD_PATTERN when the pattern is too large
 */
export function compileLinear(syntax: Syntax): (text: string) => boolean {
  const compiler = new Compiler()
  const main = compiler.compile({ kind: 'sequence', items: [syntax, { kind: 'end' }] })
  const { programs } = compiler
  let rows = programs.map((program) => new Uint8Array(program.steps.length))
  let nextRows = programs.map((program) => new Uint8Array(program.steps.length))
  return (text) => {
    for (const row of nextRows) row.fill(0)
    for (let at = text.length; at >= 0; at--) {
      const here: Here = { code: at < text.length ? text.charCodeAt(at) : -1, isStart: at === 0, rows }
      for (let i = 0; i < programs.length; i++) fillRow(programs[i] as Program, rows[i] as Row, nextRows[i] as Row, here)
      const filled = rows
      rows = nextRows
      nextRows = filled
    }
    return nextRows[main]?.[0] === 1
  }
}
