import type { Endpoint } from './contract/endpoint.ts'
import { type ProbeSettings, probeEndpoints } from './endpoints/probes.ts'
import { adminPurgeEndpoints, apiEndpoints, maintenanceEndpoints } from './endpoints/purges.ts'
import { adminRendererEndpoints, debugEndpoints } from './endpoints/renderers.ts'

/** Settings of the built-in endpoints. */
interface EndpointSettings extends ProbeSettings {
  readonly apiGroup: boolean
  readonly adminGroup: boolean
}

/** The one list of endpoints: routing, the listing of unknown paths and the command line all read it. */
export function listEndpoints(settings: EndpointSettings): Endpoint[] {
  return [
    ...probeEndpoints(settings),
    ...maintenanceEndpoints(),
    ...debugEndpoints(),
    ...(settings.apiGroup ? apiEndpoints() : []),
    ...(settings.adminGroup ? [...adminPurgeEndpoints(), ...adminRendererEndpoints()] : []),
  ]
}
