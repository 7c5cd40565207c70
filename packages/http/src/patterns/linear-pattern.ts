import type { Pacer } from '@svc/core'
import { PatternSyntaxError } from './pattern-text.ts'
import { type Re2Instruction, type Re2Program, re2Flag, re2Op, re2Program } from './re2-program.ts'
import { isWordRune, RuneClasses, readsRune } from './rune-classes.ts'

/** Bounds of one pattern. */
interface PatternLimits {
  readonly maxChars: number
  readonly maxInstructions: number
  /** Entries of its table, of four bytes each. */
  readonly maxCells: number
  /** Steps of building it. */
  readonly maxWork: number
}

/** Bounds of a pattern that anybody may have written: it is built in some milliseconds, and takes at most 256 KB. */
export const hostilePatternLimits: PatternLimits = { maxChars: 1000, maxInstructions: 1000, maxCells: 65_536, maxWork: 300_000 }

const MATCHED = 0
const START = 1
const NOWHERE = -1
const NEWLINE = 0x0a

/** The text before a position, as far as assertions look at it. */
type Context = 'start' | 'newline' | 'word' | 'other'

/**
 * A pattern of RE2 as a complete table of states: each character of a text costs one look into the table, whatever pattern and text are.
 * A pattern that needs too large a table is refused when it is compiled, not when it is matched.
 */
export class LinearPattern {
  readonly source: string
  /** Entries of its table. */
  readonly cells: number
  readonly #classes: RuneClasses
  readonly #latin1: Uint8Array
  readonly #next: Uint32Array
  readonly #start: number
  readonly #matchesAtEnd: Uint8Array

  private constructor(source: string, { classes, next, matchesAtEnd }: TableBuilder) {
    const { count } = classes
    this.source = source
    this.cells = next.length
    this.#classes = classes
    this.#latin1 = classes.latin1
    // A state is the offset of its row.
    this.#next = Uint32Array.from(next)
    for (let at = 0; at < this.#next.length; at++) this.#next[at] = (this.#next[at] as number) * count
    this.#start = START * count
    this.#matchesAtEnd = Uint8Array.from(matchesAtEnd)
  }

  /** @throws PatternSyntaxError */
  static compile(source: string, limits: PatternLimits): LinearPattern {
    const builder = new TableBuilder(source, limits)
    while (builder.addRow());
    return new LinearPattern(source, builder)
  }

  /** The same in slices, between which the process does other work. */
  static async compileInSlices(source: string, limits: PatternLimits, pacer: Pacer): Promise<LinearPattern> {
    if (pacer.isDue) await pacer.rest()
    const builder = new TableBuilder(source, limits)
    do if (pacer.isDue) await pacer.rest()
    while (builder.addRow())
    return new LinearPattern(source, builder)
  }

  /** Returns true if the pattern matches anywhere in the text. */
  test(text: string): boolean {
    const next = this.#next
    const latin1 = this.#latin1
    const { length } = text
    let state = this.#start
    for (let at = 0; at < length; at++) {
      const code = text.charCodeAt(at)
      if (code <= 0xff) state = next[state + (latin1[code] as number)] as number
      else {
        const rune = text.codePointAt(at) as number
        if (rune > 0xffff) at++
        state = next[state + this.#classes.classOf(rune)] as number
      }
      if (state === MATCHED) return true
    }
    return this.#matchesAtEnd[state / this.#classes.count] === 1
  }
}

function tooLarge(): PatternSyntaxError {
  return new PatternSyntaxError(
    'it needs too much memory to be matched in linear time',
    0,
    'use smaller counts in braces and fewer of ".*" and ".{m,n}", or split the pattern',
  )
}

interface State {
  /** Instructions to go on with, sorted. */
  readonly seeds: readonly number[]
  readonly context: Context
}

/** Builds all states that a program can be in, from the first one on. */
class TableBuilder {
  readonly classes: RuneClasses
  /** The state behind each state and class. */
  readonly next: number[] = []
  /** For each state: 1 if a text that ends in it matches. */
  readonly matchesAtEnd: number[] = [1]
  readonly #program: Re2Program
  readonly #limits: PatternLimits
  /** All conditions that assertions of the program ask for. */
  readonly #asked: number
  readonly #states: (State | undefined)[] = [undefined]
  readonly #known = new Map<string, number>()
  #work = 0
  /** The closure that last saw each instruction. */
  readonly #seen: Uint32Array
  #pass = 0
  /** By class and instruction that reads it: the next instruction. */
  readonly #targets: Int32Array[] = []

  /** @throws PatternSyntaxError */
  constructor(source: string, limits: PatternLimits) {
    if (source.length > limits.maxChars) throw new PatternSyntaxError(`it is longer than ${limits.maxChars} characters`, 0)
    const program = re2Program(source)
    if (program.inst.length > limits.maxInstructions) throw tooLarge()
    this.classes = new RuneClasses(program)
    this.#program = program
    this.#limits = limits
    this.#seen = new Uint32Array(program.inst.length)
    this.#asked = program.inst.reduce((all, { op, arg }) => (op === re2Op.assertion ? all | arg : all), 0)
    for (let at = 0; at < this.classes.count; at++) this.next.push(MATCHED)
    this.#numberOf({ seeds: [program.start], context: this.#contextAfter(undefined) })
  }

  /** Adds the row of the next state. False: each state has its row. @throws PatternSyntaxError */
  addRow(): boolean {
    const state = this.#states[this.matchesAtEnd.length]
    if (state === undefined) return false
    this.#addRowOf(state)
    return true
  }

  #addRowOf(state: State): void {
    const reached = new Map<number, readonly number[] | 'matched'>()
    const reach = (flags: number) => {
      const known = reached.get(flags)
      if (known !== undefined) return known
      const found = this.#closure(state.seeds, flags)
      reached.set(flags, found)
      return found
    }
    for (const [at, sample] of this.classes.samples.entries()) {
      const instructions = reach(this.#flagsBetween(state.context, sample))
      this.next.push(instructions === 'matched' ? MATCHED : this.#after(instructions, at, sample))
    }
    this.matchesAtEnd.push(reach(this.#flagsBetween(state.context, undefined)) === 'matched' ? 1 : 0)
  }

  /** The number of the state that a rune leads to. */
  #after(instructions: readonly number[], at: number, rune: number): number {
    const { start } = this.#program
    const targets = this.#targetsOf(at, rune)
    const pass = ++this.#pass
    // A match may begin anywhere.
    const seeds = [start]
    this.#seen[start] = pass
    for (const instruction of instructions) {
      const target = targets[instruction] ?? NOWHERE
      if (target === NOWHERE || this.#seen[target] === pass) continue
      this.#seen[target] = pass
      seeds.push(target)
    }
    this.#spend(instructions.length + seeds.length)
    if (seeds.length > 1) seeds.sort((a, b) => a - b)
    return this.#numberOf({ seeds, context: this.#contextAfter(rune) })
  }

  #targetsOf(at: number, rune: number): Int32Array {
    const known = this.#targets[at]
    if (known !== undefined) return known
    const nextOf = (one: Re2Instruction) => (readsRune(one) && one.matchRune(rune) ? one.out : NOWHERE)
    const targets = Int32Array.from(this.#program.inst, nextOf)
    this.#targets[at] = targets
    return targets
  }

  #numberOf(state: State): number {
    const key = `${state.context} ${state.seeds.join()}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const number = this.#states.push(state) - 1
    if ((number + 1) * this.classes.count > this.#limits.maxCells) throw tooLarge()
    this.#known.set(key, number)
    return number
  }

  /** The instructions that read a rune which the seeds lead to where these conditions hold. */
  #closure(seeds: readonly number[], flags: number): readonly number[] | 'matched' {
    const { inst } = this.#program
    const pass = ++this.#pass
    const pending = [...seeds]
    const readers: number[] = []
    this.#spend(seeds.length)
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (this.#seen[at] === pass) continue
      this.#seen[at] = pass
      this.#work++
      const instruction = inst[at]
      if (instruction === undefined) continue
      const { op, out, arg } = instruction
      if (op === re2Op.match) return 'matched'
      if (op === re2Op.branch || op === re2Op.branchMatch) pending.push(out, arg)
      else if (op === re2Op.nothing || op === re2Op.capture) pending.push(out)
      else if (op === re2Op.assertion) {
        if ((arg & ~flags) === 0) pending.push(out)
      } else if (readsRune(instruction)) readers.push(at)
    }
    this.#spend(0)
    return readers
  }

  #spend(steps: number): void {
    this.#work += steps + 1
    if (this.#work > this.#limits.maxWork) throw tooLarge()
  }

  /** The conditions that hold between a context and the next rune; undefined: the end. */
  #flagsBetween(context: Context, rune: number | undefined): number {
    let flags = 0
    if (context === 'start') flags |= re2Flag.textStart | re2Flag.lineStart
    if (context === 'newline') flags |= re2Flag.lineStart
    if (rune === undefined) flags |= re2Flag.textEnd
    if (rune === undefined || rune === NEWLINE) flags |= re2Flag.lineEnd
    const isAtWord = rune !== undefined && isWordRune(rune)
    flags |= isAtWord === (context === 'word') ? re2Flag.noWordBoundary : re2Flag.wordBoundary
    return flags & this.#asked
  }

  /** Contexts that no assertion tells apart are one, so that they make no states of their own. */
  #contextAfter(rune: number | undefined): Context {
    const asks = (flags: number) => (this.#asked & flags) !== 0
    if (rune === undefined) return asks(re2Flag.textStart | re2Flag.lineStart) ? 'start' : 'other'
    if (rune === NEWLINE) return asks(re2Flag.lineStart) ? 'newline' : 'other'
    return isWordRune(rune) && asks(re2Flag.wordBoundary | re2Flag.noWordBoundary) ? 'word' : 'other'
  }
}
