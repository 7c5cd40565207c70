import type { Handlers } from '@svc/core'
import { SupervisorError } from '@svc/processes'
import type { HostSpec, hostCommandMethods, unitMethods } from '@svc/protocol'
import type { UnitHost } from './unit-host.ts'

/** The master times out earlier on calls that it does not want to wait for. */
const FORWARD_TIMEOUT_MS = 120_000

const FORWARDED = [
  'survey',
  'siteChanged',
  'purgeModules',
  'modules',
  'isolates',
  'flush',
  'usedRoutes',
  'warm',
  'ping',
  'metrics',
] as const
type Forwarded = Pick<Handlers<typeof hostCommandMethods>, (typeof FORWARDED)[number]>

/** Calls that go to the render host unchanged. */
function forwarded(host: UnitHost): Forwarded {
  const forward = (name: keyof Forwarded) => (request: never) =>
    host.require().peer.call(name, request, { timeoutMs: FORWARD_TIMEOUT_MS })
  return Object.fromEntries(FORWARDED.map((name) => [name, forward(name)])) as unknown as Forwarded
}

/** The unit's handlers for the master. */
export function unitHandlers(host: UnitHost): Handlers<typeof unitMethods> {
  let prepared: HostSpec | undefined
  return {
    ...forwarded(host),
    attach: async ({ spec, purges, boot }) => void (await host.attach(spec, purges, boot)),
    prepare: async ({ spec }) => {
      prepared = spec
      await host.require().prepare(spec)
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
