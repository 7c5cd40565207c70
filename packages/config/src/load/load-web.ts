import { type Place, type ReadWeb, readWeb } from '@svc/vhosts'
import type { Config } from '../schema/types.ts'
import type { KeyPath } from '../values/key-path.ts'

/** Reads the vhost files that a configuration names. */
export async function loadWeb(config: Config, baseDir: string, placeOf: (path: KeyPath) => Place): Promise<ReadWeb> {
  const { server, tls, sites, apps } = config
  const hosts = [
    ...sites.flatMap(({ hostnames }, index) =>
      hostnames.map((name, at) => ({ name, place: placeOf(['sites', index, 'hostnames', at]) })),
    ),
    ...apps.map(({ hostname }, index) => ({ name: hostname, place: placeOf(['apps', index, 'hostname']) })),
  ]
  const taken = [
    ...sites.map(({ id, label }, index) => ({ id, label, place: placeOf(['sites', index, 'id']) })),
    ...apps.map(({ name }, index) => ({ id: name, label: name, place: placeOf(['apps', index, 'name']) })),
  ]
  return readWeb({
    globs: server.vhosts.map((glob, index) => ({ glob, place: placeOf(['server', 'vhosts', index]) })),
    baseDir,
    surroundings: {
      hosts,
      taken,
      hasCertificates: tls.auto || tls.certs.length > 0 || sites.some((site) => site.tls_cert !== undefined),
      engine: server.engine,
    },
  })
}
