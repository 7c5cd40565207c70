import { AppError } from '@svc/core'
import type { PluginStatus } from '@svc/protocol'
import type { ControlPlane } from '../src/index.ts'

const plugin: PluginStatus = {
  name: 'auth',
  version: '1.0.0',
  file: '/srv/plugins/10-auth.mjs',
  hooks: ['onRequest'],
  cacheable: false,
  timeout_ms: 100,
  enabled: true,
  state: 'active',
  reason: null,
  invocations: 7,
  errors: 2,
  last_error: 'onRequest: took longer than 100 ms',
}

/** The plugins of an instance that has one. */
export function pluginsOf(calls: unknown[]): ControlPlane['plugins'] {
  return {
    list: async () => [plugin],
    setEnabled: async (order) => {
      if (order.name !== plugin.name)
        throw new AppError('SUP_UNKNOWN_PLUGIN', 'there is no such plugin', { status: 404, exposable: true })
      calls.push({ plugin: order })
    },
  }
}
