import { isDeepStrictEqual } from 'node:util'
import { type Config, type ConfigValue, configValues, type LoadedConfig, redact, valueAt } from '@svc/config'
import type { ConfigValueFacts, ConfigValuePage, ConfigValueQuery, GenerationSpec, Override } from '@svc/protocol'

/** A longer value is cut. */
const MAX_CHARS = 400

/** A value as JSON. */
export function shownValue(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null'
  return json.length <= MAX_CHARS ? json : `${json.slice(0, MAX_CHARS)}... (${json.length} characters)`
}

/** A configuration of the files, with overrides. */
type Candidate = Pick<LoadedConfig, 'config' | 'sites' | 'originOf'>

/** Dependencies of `EffectiveValues`. */
interface EffectiveOptions {
  readonly spec: () => GenerationSpec
  readonly overrides: () => readonly Override[]
}

/** The values of the configuration in service, with their sources. */
export class EffectiveValues {
  readonly #options: EffectiveOptions
  #candidate: Candidate | undefined
  /** The one whose sites are in service, or were until values were set at run time. */
  #served: Candidate | undefined
  /** Those of the last query: a page is one of many. */
  #listed: { readonly config: Config; readonly values: readonly ConfigValue[] } | undefined

  constructor(options: EffectiveOptions) {
    this.#options = options
  }

  /** The files were read: they may come into service. */
  loaded(candidate: Candidate): void {
    this.#candidate = candidate
  }

  /** A generation is in service. */
  served({ sites }: Pick<GenerationSpec, 'sites'>): void {
    if (this.#candidate?.sites !== sites) return
    this.#served = this.#candidate
    this.#candidate = undefined
  }

  page({ text = '', origin, limit, skip }: ConfigValueQuery): ConfigValuePage {
    const { spec } = this.#options
    const selected = this.#rows().filter(
      (row) =>
        (origin === undefined || row.origin === origin) &&
        (row.key.toLowerCase().includes(text) || row.place.toLowerCase().includes(text)),
    )
    const values = selected.slice(skip, skip + limit).map(({ path, ...row }) => this.#facts(row, path))
    return { generation: spec().generation, values, total: selected.length }
  }

  #rows(): Row[] {
    const { spec, overrides } = this.#options
    const { config } = spec()
    if (this.#listed?.config !== config) this.#listed = { config, values: configValues(config) }
    const set = new Map(overrides().map((override) => [override.key, override]))
    const rows = this.#listed.values.map(({ key, path, value }): Row => {
      const override = set.get(key)
      set.delete(key)
      if (override !== undefined) return rowOf(override, path)
      const { kind, place } = this.#served?.originOf(path) ?? { kind: 'default', place: '' }
      return { key, value, path, origin: kind, place }
    })
    // Some that are set at run time are in no configuration file: releases, servers that are down.
    return [...rows, ...Array.from(set.values(), (override) => rowOf(override, []))]
  }

  #facts(row: Omit<Row, 'path'>, path: ConfigValue['path']): ConfigValueFacts {
    return { ...row, value: shownValue(row.value), after_restart: row.origin === 'override' ? null : this.#afterRestart(path) }
  }

  #afterRestart(path: ConfigValue['path']): string | null {
    if (this.#served === undefined) return null
    const next = valueAt(this.#served.config, path)
    if (isDeepStrictEqual(next, valueAt(this.#options.spec().config, path))) return null
    return shownValue(valueAt(redact(this.#served.config), path))
  }
}

interface Row extends Pick<ConfigValueFacts, 'key' | 'origin' | 'place'> {
  readonly value: unknown
  readonly path: ConfigValue['path']
}

function rowOf({ key, value, username, at }: Override, path: ConfigValue['path']): Row {
  return { key, value, path, origin: 'override', place: `${username || 'command line'}, ${at}` }
}
