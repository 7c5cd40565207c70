import { directUpstream, type NeededPath, NeededPaths, type Place, type ReadWeb, readWeb, type WebSpec } from '@svc/vhosts'
import type { PlaceOf } from '../checks/unique-names.ts'
import type { Config, RouteRule } from '../schema/types.ts'
import type { KeyPath } from '../values/key-path.ts'
import { readRuleUpstream } from '../values/rule-upstream.ts'

/** Reads the vhost files that a configuration names. @param isHeadGiven true if `server.max_header_bytes` is written somewhere */
export async function loadWeb(
  config: Config,
  baseDir: string,
  placeOf: (path: KeyPath) => Place,
  isHeadGiven: boolean,
): Promise<ReadWeb> {
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
      maxHeaderBytes: isHeadGiven ? server.max_header_bytes : undefined,
      engine: server.engine,
      engineTls: server.engine_tls,
    },
  })
}

/** Finds the sockets that route rules pass requests to. */
export function ruleSockets({ route_rules: common, sites }: Config, placeOf: PlaceOf): NeededPath[] {
  const needs = new NeededPaths()
  const add = (rules: readonly RouteRule[], path: KeyPath) => {
    for (const [index, { upstream }] of rules.entries()) {
      const socket = /^https?:\/\/unix:([^:]+)/.exec(upstream ?? '')?.[1]
      if (socket !== undefined) needs.add('socket', socket, placeOf([...path, index, 'upstream']))
    }
  }
  add(common, ['route_rules'])
  for (const [index, site] of sites.entries()) add(site.route_rules, ['sites', index, 'route_rules'])
  return needs.all
}

/** Adds a group for each address that a route rule names directly, as `proxy_pass` has one for each. */
export function withRuleUpstreams(web: WebSpec, { route_rules: common, sites }: Config): WebSpec {
  const groups = new Map(web.upstreams.map((group) => [group.name, group]))
  for (const { upstream } of [...common, ...sites.flatMap((site) => site.route_rules)]) {
    if (upstream === undefined) continue
    const { group } = readRuleUpstream(upstream)
    if (!groups.has(group)) groups.set(group, directUpstream(group))
  }
  return { ...web, upstreams: [...groups.values()] }
}
