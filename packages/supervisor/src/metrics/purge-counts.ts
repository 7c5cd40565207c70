import type { PurgeLayer, PurgeOrder } from '@svc/cache'
import { type MetricSource, NumberFamily } from '@svc/telemetry'

const LAYERS: readonly PurgeLayer[] = ['l0', 'isr', 'proxy']

/** Counts purges by layer. */
export class PurgeCounts {
  readonly #purges = new NumberFamily('counter', {
    name: 'svc_purges_total',
    help: 'Purges carried out, by the layer that they name.',
    labels: ['layer'],
  })

  constructor() {
    for (const layer of LAYERS) this.#purges.series(layer)
  }

  get source(): MetricSource {
    return this.#purges
  }

  done(order: PurgeOrder): void {
    for (const layer of order.layers) this.#purges.series(layer).value++
  }
}
