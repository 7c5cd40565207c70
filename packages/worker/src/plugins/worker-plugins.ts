import type { PluginSpec } from '@svc/config'
import type { PluginOff, PluginReport } from '@svc/protocol'
import type { PluginCall, PluginHooks } from '@svc/site/types/plugin'
import { type MetricSet, pluginMetrics } from '@svc/telemetry'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import type { RequestContext } from '../request/request-context.ts'
import { PluginModules, placeOf } from './plugin-modules.ts'
import { checkPlugin, HOOKS, type HookName } from './plugin-shape.ts'
import { type Hooked, type HookTable, RequestPassage } from './request-passage.ts'
import { type PluginPorts, RunningPlugin } from './running-plugin.ts'

interface ActivePlugins {
  readonly table: HookTable
  /** True if responses to requests that they have seen may enter L0. */
  readonly isCacheable: boolean
}

/** Hooks that decide about a response: what has passed them enters L0 only if their plugin says that it may. */
const DECIDING = ['onRequest', 'onRoute', 'onResponse'] as const satisfies readonly HookName[]

interface WorkerPluginsOptions extends Pick<PluginPorts, 'clock' | 'log' | 'onOff'> {
  readonly metrics: MetricSet
  readonly modules?: PluginModules
}

/** The plugins of a worker over its generations. A plugin whose file and modules are the same is not loaded again. */
export class WorkerPlugins {
  readonly #modules: PluginModules
  readonly #ports: PluginPorts
  readonly #running = new Map<string, RunningPlugin>()
  readonly #active = new WeakMap<ServingGeneration, ActivePlugins>()
  /** Plugins that are off in the whole instance, by hash. */
  readonly #off = new Map<string, string>()
  #inService: ActivePlugins | undefined
  #isWatching = false

  constructor({ metrics, modules = new PluginModules(), ...ports }: WorkerPluginsOptions) {
    this.#modules = modules
    this.#ports = { ...ports, ...pluginMetrics(metrics) }
  }

  /**
   * Loads the plugins of a generation, those that are disabled too: what cannot be loaded is known before it is enabled.
   * @throws WORKER_PLUGIN
   */
  async prepare(generation: ServingGeneration): Promise<void> {
    const set = generation.spec.plugins
    if (set === undefined) return
    this.#watchExceptions()
    const active: RunningPlugin[] = []
    for (const spec of set.plugins) {
      const known = this.#running.get(spec.hash)
      const plugin = known ?? new RunningPlugin(spec, checkPlugin(await this.#load(spec, set), spec.name, spec.file), this.#ports)
      if (known === undefined) plugin.offReason = this.#off.get(spec.hash)
      this.#running.set(spec.hash, plugin)
      if (spec.enabled) active.push(plugin)
    }
    this.#active.set(generation, {
      table: hookTable(active),
      isCacheable: active.every(({ hooks, checked }) => checked.cacheable || !DECIDING.some((name) => hooks.has(name))),
    })
  }

  /** A generation takes over. */
  serve(next: ServingGeneration, isFirst: boolean): void {
    const { number, spec } = next
    const kept = new Set((spec.plugins?.plugins ?? []).map(({ hash }) => hash))
    for (const hash of [...this.#running.keys()]) if (!kept.has(hash)) this.#running.delete(hash)
    this.#modules.retain(kept)
    this.#inService = this.#active.get(next)
    if (!isFirst) this.#observe('onReload', (hooks, call) => hooks.onReload?.(Object.freeze({ generation: number }), call))
  }

  /** Caches were purged. */
  purged(layers: readonly string[]): void {
    this.#observe('onPurge', (hooks, call) => hooks.onPurge?.(Object.freeze({ layers: Object.freeze([...layers]) }), call))
  }

  /** Begins the passage of a request. Undefined: no plugin is enabled. */
  passage(context: RequestContext): RequestPassage | undefined {
    const active = this.#active.get(context.generation)
    if (active === undefined) return undefined
    if (!active.isCacheable) context.withdrawFromL0()
    return new RequestPassage(context, active.table)
  }

  /** A plugin is off in the whole instance, or (null) is on again. */
  setOff({ hash, reason }: PluginOff): void {
    if (reason === null) this.#off.delete(hash)
    else this.#off.set(hash, reason)
    const plugin = this.#running.get(hash)
    if (plugin === undefined) return
    if (reason === null) plugin.switchOn()
    else plugin.offReason ??= reason
  }

  report(): PluginReport[] {
    return Array.from(this.#running.values(), (plugin) => plugin.report())
  }

  async #load(spec: PluginSpec, set: Parameters<PluginModules['load']>[1]): Promise<unknown> {
    // The last line of a worker whose plugin does not return names it.
    this.#ports.log('info', { plugin: spec.name, file: spec.file }, 'loading a plugin')
    return await this.#modules.load(spec, set)
  }

  /** Calls hooks that nothing waits for. */
  #observe(name: 'onPurge' | 'onReload', run: (hooks: PluginHooks, call: PluginCall) => unknown): void {
    const ignore = () => undefined
    // Not in the turn of the order: a plugin does not hold up the master.
    for (const { plugin, hook } of this.#inService?.table[name] ?? [])
      setImmediate(() => void plugin.call(hook, undefined, run, ignore))
  }

  /** An exception of a timer of a plugin ends the process, as any other: the log says where it came from. */
  #watchExceptions(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    process.on('uncaughtExceptionMonitor', (err) => {
      const place = placeOf(err)
      if (place === undefined) return
      const plugin = [...this.#running.values()].find(({ spec }) => place.startsWith(`${spec.file}:`))?.spec.name
      this.#ports.log('error', { plugin, err }, `a plugin ends this worker by an exception that nothing catches (${place})`)
    })
  }
}

function hookTable(plugins: readonly RunningPlugin[]): HookTable {
  const hooked = (name: HookName): Hooked[] =>
    plugins.flatMap((plugin) => {
      const hook = plugin.hooks.get(name)
      return hook === undefined ? [] : [{ plugin, hook }]
    })
  return Object.fromEntries(HOOKS.map((name) => [name, hooked(name)])) as unknown as HookTable
}
