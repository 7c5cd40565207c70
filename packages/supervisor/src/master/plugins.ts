import type { PluginSpec } from '@svc/config'
import type { PluginOrder, PluginReport, PluginStatus } from '@svc/protocol'
import { pluginKey } from '../overrides/override-settings.ts'
import type { MasterParts } from './parts.ts'
import { REPORT, reportsOf } from './worker-reports.ts'

/** The plugins of the configuration in service, with the counts of the workers that report in time. */
export async function pluginsOf(parts: MasterParts): Promise<{ plugins: PluginStatus[] }> {
  const specs = parts.spec().plugins?.plugins ?? []
  if (specs.length === 0) return { plugins: [] }
  const { reports } = await reportsOf(parts, ({ peer }) => peer.call('plugins', undefined, REPORT))
  const byHash = Map.groupBy(
    reports.flatMap(({ plugins }) => plugins),
    ({ hash }) => hash,
  )
  return { plugins: specs.map((spec) => statusOf(spec, byHash.get(spec.hash) ?? [], parts.plugins.reasonOf(spec.hash))) }
}

function statusOf({ name, file, enabled }: PluginSpec, reports: readonly PluginReport[], reason: string | null): PluginStatus {
  const [one] = reports
  const sum = (count: (report: PluginReport) => number) => reports.reduce((total, report) => total + count(report), 0)
  return {
    name,
    version: one?.version ?? '',
    file,
    hooks: one?.hooks ?? [],
    cacheable: one?.cacheable ?? false,
    timeout_ms: one?.timeout_ms ?? 0,
    enabled,
    state: !enabled ? 'off' : reason === null ? 'active' : 'disabled',
    reason,
    invocations: sum(({ invocations }) => invocations),
    errors: sum(({ errors }) => errors),
    last_error: reports.find(({ last_error: error }) => error !== null)?.last_error ?? null,
  }
}

/**
 * Enables or disables a plugin, over restarts and reloads. One that was switched off after failures is on again.
 * @throws SUP_UNKNOWN_PLUGIN, SUP_OVERRIDE
 */
export async function setPluginEnabled(
  { overrides, spec, reloader, plugins }: MasterParts,
  { name, enabled, username }: PluginOrder,
): Promise<undefined> {
  await overrides.set(pluginKey(name), enabled, username, spec(), reloader.change.bind(reloader))
  const own = spec().plugins?.plugins.find((plugin) => plugin.name === name)
  if (enabled && own !== undefined) await plugins.switchOn(own)
}
