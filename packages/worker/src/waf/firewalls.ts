import type { Config } from '@svc/config'
import { Pacer } from '@svc/core'
import { hostilePatternLimits, LinearPattern } from '@svc/http'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import { sourcesOf } from './compiled-rule.ts'
import { Firewall, isWafOff } from './firewall.ts'
import { type Pack, type PackName, packs } from './packs.ts'

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
    const pacer = new Pacer()
    const patterns = new Map<string, LinearPattern>()
    for (const source of sourcesOf(waf.rules)) {
      patterns.set(source, this.#patterns.get(source) ?? new LinearPattern(source, hostilePatternLimits))
      if (pacer.isDue) await pacer.rest()
    }
    for (const name of Object.keys(packs) as PackName[]) {
      if (waf.packs[name] === 'off' || this.#packs.has(name)) continue
      this.#packs.set(name, packs[name]())
      if (pacer.isDue) await pacer.rest()
    }
    this.#patterns = patterns
    const patternOf = (source: string) => patterns.get(source) ?? new LinearPattern(source, hostilePatternLimits)
    return new Firewall(waf, patternOf, (name) => this.#packs.get(name) ?? packs[name]())
  }
}
