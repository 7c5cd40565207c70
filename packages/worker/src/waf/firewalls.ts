import type { Config } from '@svc/config'
import { Pacer } from '@svc/core'
import { hostilePatternLimits, LinearPattern } from '@svc/http'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import { sourcesOf } from './compiled-rule.ts'
import { Firewall, isWafOff } from './firewall.ts'
import { type Pack, type PackName, packs } from './packs.ts'

/** Requests wait no longer than this, and for the state of a pattern that is being built, while patterns are compiled. */
const SLICE_MS = 4

/** The firewalls of generations. What two of them have in common is compiled once. */
export class Firewalls {
  readonly #firewalls = new WeakMap<ServingGeneration, Firewall>()
  #patterns: ReadonlyMap<string, LinearPattern> = new Map()
  readonly #packs = new Map<PackName, Pack>()

  /** Compiles the rules and packs of a generation. Pauses, so that it does not hold up the process. */
  async prepare(generation: ServingGeneration): Promise<void> {
    const { waf } = generation.config
    if (isWafOff(waf)) return
    this.#firewalls.set(generation, await this.#compile(waf))
  }

  /** Undefined: nothing is looked at. */
  of(generation: ServingGeneration): Firewall | undefined {
    return this.#firewalls.get(generation)
  }

  async #compile(waf: Config['waf']): Promise<Firewall> {
    const pacer = new Pacer(SLICE_MS)
    const patterns = new Map<string, LinearPattern>()
    for (const source of sourcesOf(waf.rules)) {
      const known = this.#patterns.get(source)
      patterns.set(source, known ?? (await LinearPattern.compileInSlices(source, hostilePatternLimits, pacer)))
      if (pacer.isDue) await pacer.rest()
    }
    for (const name of Object.keys(packs) as PackName[]) {
      if (waf.packs[name] !== 'off' && !this.#packs.has(name)) this.#packs.set(name, await packs[name](pacer))
    }
    this.#patterns = patterns
    const patternOf = (source: string) => patterns.get(source) ?? LinearPattern.compile(source, hostilePatternLimits)
    return new Firewall(waf, patternOf, this.#packs)
  }
}
