import type { Config, EnvSources, SiteConfig } from '@svc/config'
import type { GenerationSpec } from '@svc/protocol'

/** The parts of a configuration that have values which can be overridden. */
export interface Overridable {
  readonly config: Pick<Config, 'tasks' | 'waf'>
  readonly sites: readonly SiteConfig[]
  readonly web: Pick<GenerationSpec['web'], 'upstreams'>
  readonly plugins?: GenerationSpec['plugins']
}

/** A value of a configuration that can be overridden. */
export interface Setting {
  /** The value, as it is compared and restored. */
  readonly value: unknown
  /** The configuration with another value. @throws SUP_OVERRIDE if that is impossible */
  write<T extends Overridable>(served: T, value: unknown, sources: EnvSources): Promise<T>
}
