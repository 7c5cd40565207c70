import type { Handlers } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { HostSpec, hostCommandMethods, unitMethods } from '@svc/protocol'
import type { UnitHost } from './unit-host.ts'

/** The master times out earlier on calls that it does not want to wait for. */
const FORWARD_TIMEOUT_MS = 120_000

type Forwarded = Omit<Handlers<typeof hostCommandMethods>, 'prepare' | 'commit' | 'abandon' | 'purge' | 'purgeSettled'>

/** Calls that go to the render host unchanged. */
function forwarded(host: UnitHost): Forwarded {
  const options = { timeoutMs: FORWARD_TIMEOUT_MS }
  const peer = () => host.require().peer
  return {
    survey: (request) => peer().call('survey', request, options),
    siteChanged: (request) => peer().call('siteChanged', request, options),
    purgeModules: (request) => peer().call('purgeModules', request, options),
    modules: (request) => peer().call('modules', request, options),
    flush: (request) => peer().call('flush', request, options),
    usedRoutes: () => peer().call('usedRoutes', undefined, options),
    warm: (request) => peer().call('warm', request, options),
    ping: () => peer().call('ping', undefined, options),
    metrics: () => peer().call('metrics', undefined, options),
  }
}

/** The unit's handlers for the master. */
export function unitHandlers(host: UnitHost): Handlers<typeof unitMethods> {
  let prepared: HostSpec | undefined
  return {
    ...forwarded(host),
    attach: async ({ spec, purges, boot }) => void (await host.attach(spec, purges, boot)),
    prepare: async ({ spec }) => {
      prepared = spec
      await host.prepare(spec)
      return undefined
    },
    commit: async ({ generation }) => {
      if (prepared?.generation !== generation) {
        throw new SupervisorError('SUP_NOT_READY', `generation ${generation} was not prepared`)
      }
      await host.commit(prepared)
      return undefined
    },
    abandon: ({ generation }) => {
      if (prepared?.generation === generation) prepared = undefined
      host.host?.peer.notify('abandon', { generation })
      return undefined
    },
    purge: async ({ purge }) => void (await host.purge(purge)),
    purgeSettled: ({ number }) => void host.purgeSettled(number),
    replace: async () => void (await host.replace()),
  }
}
