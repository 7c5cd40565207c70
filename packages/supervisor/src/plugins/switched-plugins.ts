import type { PluginSpec } from '@svc/config'
import type { GenerationSpec, PluginOff } from '@svc/protocol'
import type { Logger } from '@svc/telemetry'

interface SwitchedPluginsOptions {
  /** The generation in service. */
  readonly spec: () => Pick<GenerationSpec, 'plugins'>
  /** Tells all workers. Resolves when each knows, has ended, or is too busy to confirm. */
  readonly announce: (order: PluginOff) => Promise<void>
  readonly logger: Logger
}

/** The plugins that failed too often in a row: they are off in all workers until an operator enables them, or changes their file. */
export class SwitchedPlugins {
  readonly #options: SwitchedPluginsOptions
  readonly #off = new Map<string, PluginOff>()

  constructor(options: SwitchedPluginsOptions) {
    this.#options = options
  }

  /** Those that are off, for a worker that joins. */
  get all(): PluginOff[] {
    return [...this.#off.values()]
  }

  /** Names of those that are off although the configuration in service enables them. */
  get failed(): string[] {
    const enabled = this.#options.spec().plugins?.plugins.filter((plugin) => plugin.enabled) ?? []
    return enabled.filter(({ hash }) => this.#off.has(hash)).map(({ name }) => name)
  }

  /** A plugin has failed too often in one worker. */
  switchOff(order: PluginOff): void {
    const { spec, announce, logger } = this.#options
    const inService = new Set(spec().plugins?.plugins.map(({ hash }) => hash))
    for (const hash of this.#off.keys()) if (!inService.has(hash)) this.#off.delete(hash)
    if (this.#off.has(order.hash) || !inService.has(order.hash)) return
    this.#off.set(order.hash, order)
    const { name, reason } = order
    logger.error({ alert: 'plugin_off', plugin: name, reason }, `plugin ${name} is switched off in all workers: ${reason}`)
    void announce(order)
  }

  async switchOn({ name, hash }: Pick<PluginSpec, 'name' | 'hash'>): Promise<void> {
    if (!this.#off.delete(hash)) return
    await this.#options.announce({ name, hash, reason: null })
  }

  reasonOf(hash: string): string | null {
    return this.#off.get(hash)?.reason ?? null
  }
}
