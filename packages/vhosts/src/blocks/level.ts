import { nearestName } from '@svc/core'
import { directiveNames, rulesByName } from '../directives/all-rules.ts'
import { DirectiveCall, type ReadingTools } from '../directives/directive-call.ts'
import { harmlessValues, outsideOfHttp, type Refusal, refusalOf } from '../directives/refusal.ts'
import type { Context, Rule } from '../directives/rule.ts'
import type { LocationMatch } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import { type Directive, decodeBytes } from '../syntax/source-file.ts'
import { shown } from '../syntax/vhost-problems.ts'
import type { VariableTable } from '../variables/variable-table.ts'

/** Directives of one slot at one level. */
interface Slot {
  /** Directive that was first. */
  readonly first: DirectiveCall | undefined
  readonly values: unknown[]
}

/** The directives of a block, read, over those of the block around it. */
export class Level {
  readonly context: Context
  /** Of a location. */
  readonly match: LocationMatch | undefined
  /** True if a whole nginx.conf was read into it. */
  isWhole = false
  readonly #parent: Level | undefined
  readonly #slots = new Map<string, Slot>()
  /** The nearest level with directives of a slot. A location asks for about a hundred slots. */
  readonly #holders: Map<string, Level>

  constructor(context: Context, parent?: Level, match?: LocationMatch) {
    this.context = context
    this.match = match
    this.#parent = parent
    this.#holders = new Map(parent === undefined ? undefined : parent.#holders)
  }

  /** The level around it. */
  get outer(): Level | undefined {
    return this.#parent
  }

  /** Values of the directives of a rule at this level itself. */
  own<Value>({ slot }: Rule<Value>): readonly Value[] {
    // Values of a slot are made by the rules of that slot alone.
    return (this.#slots.get(slot)?.values ?? []) as readonly Value[]
  }

  /** The same with inheritance: of the nearest level that has any. */
  nearest<Value>(rule: Rule<Value>): readonly Value[] {
    return this.holder(rule)?.own(rule) ?? []
  }

  /** The nearest level that has a directive of a rule. */
  holder(rule: Rule<unknown>): Level | undefined {
    return this.#holders.get(rule.slot)
  }

  /** The value of a directive that may be given once, with inheritance. */
  value<Value>(rule: Rule<Value>): Value | undefined {
    return this.nearest(rule)[0]
  }

  /** Gives this level a value of a rule of which it has none. */
  give<Value>(rule: Rule<Value>, make: () => Value): void {
    if (!this.#slots.has(rule.slot)) this.#hold(rule, { first: undefined, values: [make()] })
  }

  /** Reads directives into this level. Those of several files add up. */
  read(directives: readonly Directive[], tools: ReadingTools): void {
    for (const directive of directives) this.#readOne(new DirectiveCall(directive, tools))
  }

  #readOne(call: DirectiveCall): void {
    const candidates = rulesByName.get(call.name)
    if (candidates === undefined) {
      this.#unknown(call)
      return
    }
    const rule = candidates.find(({ contexts }) => contexts.includes(this.context))
    if (rule === undefined) {
      defineWhatItSets(call.directive, call.tools.variables)
      const name = decodeBytes(call.name)
      const isOutside = candidates.every(({ contexts }) => contexts.every((one) => one === 'core' || one === 'events'))
      if (isOutside && this.context === 'main') refuse(call, outsideOfHttp(name))
      else call.fail(`"${name}" directive is not allowed here`)
      return
    }
    if (!this.#isFormRight(rule, call)) return
    const [min, max] = rule.args
    const count = call.directive.args.length
    if (count < min || count > max) {
      call.fail(`invalid number of arguments in "${decodeBytes(call.name)}" directive`)
      return
    }
    this.#add(rule, call)
  }

  #unknown(call: DirectiveCall): void {
    if (call.directive.block === undefined && harmlessValues(call.name).includes(call.args.join(' '))) return
    defineWhatItSets(call.directive, call.tools.variables)
    const refusal = refusalOf(call.name)
    if (refusal !== undefined) {
      refuse(call, refusal)
      return
    }
    const near = nearestName(call.name.slice(0, 64), directiveNames)
    const isPieceOfPattern = call.name.includes('}')
    const guess = near === undefined ? undefined : `did you mean "${near}"?`
    call.fail(
      `unknown directive "${shown(call.name)}"`,
      undefined,
      isPieceOfPattern ? 'a regular expression with braces must be quoted' : guess,
    )
  }

  #isFormRight(rule: Rule<unknown>, call: DirectiveCall): boolean {
    const isBlock = call.directive.block !== undefined
    if (rule.form === 'block' && !isBlock) call.fail(`directive "${rule.name}" has no opening "{"`)
    if (rule.form === 'simple' && isBlock) call.fail(`directive "${rule.name}" is not terminated by ";"`)
    return isBlock === (rule.form === 'block')
  }

  #add(rule: Rule<unknown>, call: DirectiveCall): void {
    const slot = this.#slots.get(rule.slot)
    if (slot?.first !== undefined && !rule.isMany) {
      const isSame = slot.first.name === call.name
      const earlier = isSame ? '' : `, "${slot.first.name}" directive was specified earlier`
      call.fail(`"${rule.name}" directive is duplicate${earlier}`, undefined, `first at ${formatPlace(slot.first.place)}`)
      return
    }
    const value = rule.parse(call)
    if (typeof value === 'object' && value !== null) call.tools.origins.set(value, call)
    if (slot === undefined) this.#hold(rule, { first: call, values: value === undefined ? [] : [value] })
    else if (value !== undefined) slot.values.push(value)
  }

  #hold({ slot }: Rule<unknown>, held: Slot): void {
    this.#slots.set(slot, held)
    this.#holders.set(slot, this)
  }
}

/** Directives that set the variables that they name. */
const SETTERS: ReadonlySet<string> = new Set([
  'set',
  'map',
  'geo',
  'split_clients',
  'auth_request_set',
  'perl_set',
  'js_set',
  'js_var',
  'userid',
  'set_by_lua_block',
  'set_by_lua_file',
])

function refuse(call: DirectiveCall, { message, hint, cause }: Refusal): void {
  if (cause === undefined) call.fail(message, undefined, hint)
  else call.tools.problems.addOnce(`${cause} ${call.place.file}`, call.place, message, hint)
}

/**
 * Defines the variables that a refused directive, or one within it, would set: the refusal is one problem, and every use of
 * what it sets would be another one.
 */
function defineWhatItSets(refused: Directive, variables: VariableTable): void {
  const open = [refused]
  for (let directive = open.pop(); directive !== undefined; directive = open.pop()) {
    for (const { text } of directive.args) {
      const name = SETTERS.has(directive.name.text) ? /^\$([A-Za-z0-9_]+)$/.exec(text)?.[1] : undefined
      if (name !== undefined) variables.define(name)
      for (const [, captured = ''] of text.matchAll(/\(\?P?[<']([A-Za-z_]\w*)[>']/g)) variables.define(captured)
    }
    for (const inner of directive.block ?? []) open.push(inner)
  }
}
