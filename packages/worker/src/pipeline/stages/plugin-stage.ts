import type { ServingGeneration } from '../../generation/serving-generation.ts'
import type { WorkerPlugins } from '../../plugins/worker-plugins.ts'
import type { RequestContext, Stage, StageResult } from '../../request/request-context.ts'

/** Begins the passage of a request through the plugins: their later hooks are called where the request comes to. */
export class PluginStage implements Stage {
  readonly name = 'plugins'
  readonly #plugins: WorkerPlugins

  constructor(plugins: WorkerPlugins) {
    this.#plugins = plugins
  }

  isNeeded({ spec }: ServingGeneration): boolean {
    return spec.plugins?.plugins.some(({ enabled }) => enabled) === true
  }

  run(context: RequestContext): StageResult | Promise<StageResult> {
    const passage = this.#plugins.passage(context)
    context.plugins = passage
    return passage?.begin() ?? 'next'
  }
}
