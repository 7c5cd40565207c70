import type { ServiceManager } from '@svc/processes'
import type { GenerationSpec } from '@svc/protocol'
import type { WorkerFleet } from '../fleet/worker-fleet.ts'
import type { ReloadTarget } from '../reload/reloader.ts'
import type { RenderHosts } from './render-hosts.ts'

/** The generation in service, which a reload replaces. */
export interface GenerationAccess {
  get(): GenerationSpec
  set(spec: GenerationSpec): void
}

/** The parts that a reload changes. */
interface ReloadTargetParts {
  readonly workers: WorkerFleet
  readonly hosts: RenderHosts
  readonly access: GenerationAccess
  readonly manager: ServiceManager
  /** All processes serve the generation. */
  readonly onServed: (spec: GenerationSpec, before: GenerationSpec) => Promise<void>
}

/** Distributes a generation to all processes. Hosts swap first: a worker must not send them a site that they do not know yet. */
export function makeReloadTarget(parts: ReloadTargetParts): ReloadTarget {
  const { workers, hosts, access, manager, onServed } = parts
  return {
    async prepare(spec) {
      await manager.announce('RELOADING=1')
      const [prepared] = await Promise.all([workers.prepare({ spec, hosts: hosts.endpoints }), hosts.prepare(spec)])
      return async () => {
        const before = access.get()
        access.set(spec)
        await hosts.commit(spec.generation)
        await workers.commit(prepared, spec.generation)
        hosts.sitesChanged(spec)
        await onServed(spec, before)
        await manager.announce('READY=1')
      }
    },
    abandon(generation) {
      workers.abandon(generation)
      hosts.abandon(generation)
      manager.announce('READY=1').catch(() => undefined)
    },
  }
}
