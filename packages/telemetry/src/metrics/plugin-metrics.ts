import { type Histogram, HistogramFamily, NumberFamily, type Series } from './families.ts'
import { DURATION_BUCKETS } from './http-metrics.ts'
import type { MetricSet } from './metric-set.ts'

/** The counts of plugins. The names of plugins are those of files of the operator. */
interface PluginMetrics {
  counts(plugin: string, hook: string): { readonly invocations: Series; readonly duration: Histogram }
  errors(plugin: string): Series
}

/** Adds the `plugin_*` metrics of a worker. */
export function pluginMetrics(metrics: MetricSet): PluginMetrics {
  const labels = ['plugin', 'hook']
  const calls = { name: 'plugin_invocations_total', help: 'Calls of hooks of plugins.', labels }
  const invocations = metrics.add(new NumberFamily('counter', calls))
  const time = { name: 'plugin_duration_seconds', help: 'Time of hooks of plugins, until their deadline.', labels }
  const duration = metrics.add(new HistogramFamily({ ...time, buckets: DURATION_BUCKETS }))
  const failures = {
    name: 'plugin_errors_total',
    help: 'Calls of hooks that failed, were late, or were skipped.',
    labels: ['plugin'],
  }
  const errors = metrics.add(new NumberFamily('counter', failures))
  return {
    counts: (plugin, hook) => ({ invocations: invocations.series(plugin, hook), duration: duration.series(plugin, hook) }),
    errors: (plugin) => errors.series(plugin),
  }
}
