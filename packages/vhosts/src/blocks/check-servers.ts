import type { ReadingTools } from '../directives/directive-call.ts'
import { largeClientHeaderBuffers } from '../directives/header-buffers.ts'
import type { EngineName } from '../spec/spec.ts'
import { defaultServer, EARLY_FAULTS, hasEarlyPage } from '../spec/walk.ts'
import { formatPlace, type Place } from '../syntax/config-problem.ts'
import { decodeBytes } from '../syntax/source-file.ts'
import { shown } from '../syntax/vhost-problems.ts'
import type { UwsAddresses } from '../variables/variable-table.ts'
import { checkEngines } from './address-engines.ts'
import type { ServerDraft } from './server.ts'
import type { TakenSite } from './site-drafts.ts'

/** A host name of a site outside of the vhost files; it is served on every address. */
interface HostClaim {
  readonly name: string
  readonly place: Place
}

/** Configuration outside of the vhost files. */
export interface ServerSurroundings {
  readonly hosts: readonly HostClaim[]
  readonly taken: readonly TakenSite[]
  /** True if certificates come from elsewhere too: `tls.certs`, `tls.auto`, a site. */
  readonly hasCertificates: boolean
  /** Of the other addresses for which no server names one. */
  readonly engine: EngineName
  /** `server.max_header_bytes`; undefined: it is not written, and the vhost files decide. */
  readonly maxHeaderBytes: number | undefined
  /** Of TLS addresses for which no server names one. */
  readonly engineTls: EngineName
}

/** Both forms that `.example.org` stands for. */
function claimedNames(name: string): string[] {
  return name.startsWith('.') ? [name.slice(1), `*${name}`] : [name]
}

function checkHosts(drafts: readonly ServerDraft[], { hosts }: ServerSurroundings): void {
  const everywhere = new Map(hosts.map(({ name, place }) => [name, place]))
  const claims = new Map<string, Place>()
  for (const { names, listens } of drafts) {
    for (const { spec, call, index } of names) {
      // nginx's own word for "no name": any number of servers have it.
      if (spec.kind === 'pattern' || spec.name === '_' || spec.name === '') continue
      const word = call.directive.args[index] ?? call.directive.name
      const place = call.placeOf(word)
      for (const name of claimedNames(spec.name)) {
        const site = everywhere.get(decodeBytes(name))
        if (site !== undefined) call.fail(`host name "${shown(name)}" is already taken at ${formatPlace(site)}`, index)
        for (const { address } of listens) {
          const key = `${address} ${name}`
          const before = claims.get(key)
          if (before === undefined) claims.set(key, place)
          else {
            const message = `conflicting server name "${shown(name)}" on ${address}, ignored: ${formatPlace(before)} has it`
            call.tools.problems.notice(`conflicting ${name}`, place, message)
          }
        }
      }
    }
  }
}

/** More than that cannot be configured. */
const MOST_HEADER_BYTES = 1024 * 1024

/**
 * Heads that nginx takes must not be refused here: there is one limit for all servers.
 * @returns the bytes of the largest head that a server takes; 0: none says
 */
export function checkHeaderBuffers(drafts: readonly ServerDraft[], { maxHeaderBytes }: ServerSurroundings): number {
  const written = new Set(drafts.flatMap(({ level }) => level.value(largeClientHeaderBuffers) ?? []))
  let most = 0
  for (const { bytes, call } of written) {
    const wanted = Math.min(bytes, MOST_HEADER_BYTES)
    most = Math.max(most, wanted)
    if (maxHeaderBytes === undefined || wanted <= maxHeaderBytes) continue
    call.fail(
      `heads of requests may have ${bytes} bytes with nginx, and ${maxHeaderBytes} here`,
      undefined,
      `set server.max_header_bytes = ${wanted} in the config file, or remove it there`,
    )
  }
  return most
}

function checkDefaults(drafts: readonly ServerDraft[]): void {
  const defaults = new Map<string, Place>()
  for (const { listens } of drafts) {
    for (const { address, isDefault, call } of listens) {
      if (!isDefault) continue
      const before = defaults.get(address)
      if (before !== undefined) call.fail(`a duplicate default server for ${address}`, 0, `first at ${formatPlace(before)}`)
      else defaults.set(address, call.place)
    }
  }
}

/** The engines that servers name, by address. */
function enginesOf(drafts: readonly ServerDraft[]): Map<string, EngineName> {
  const listens = drafts.flatMap(({ listens }) => listens)
  return new Map(listens.flatMap(({ address, choice }) => (choice === undefined ? [] : [[address, choice.engine]])))
}

/** Returns true if engine uws serves an address, of those with TLS and of all. */
export function addressesOfUws(drafts: readonly ServerDraft[], { engine, engineTls }: ServerSurroundings): UwsAddresses {
  const named = enginesOf(drafts)
  const listens = drafts.flatMap((draft) => draft.listens)
  const served = listens.filter(({ address, isTls }) => (named.get(address) ?? (isTls ? engineTls : engine)) === 'uws')
  return { hasUws: served.length > 0, hasUwsTls: served.some(({ isTls }) => isTls) }
}

function checkTls(drafts: readonly ServerDraft[], { hasCertificates, engineTls }: ServerSurroundings): void {
  const engines = enginesOf(drafts)
  const servers = drafts.map(({ spec }) => spec)
  for (const { spec, listens } of drafts) {
    const tls = listens.find(({ isTls }) => isTls)
    // As in nginx, names of servers without one get that of the default server of the address.
    const isDefault = tls !== undefined && defaultServer(tls.address, servers) === spec
    if (isDefault && spec.certificates.length === 0 && !spec.rejectsHandshakes && !hasCertificates) {
      const hint = 'set ssl_certificate and ssl_certificate_key, [[tls.certs]] of the config file, or tls.auto'
      tls.call.fail('no "ssl_certificate" is defined for the "listen ... ssl" directive', 0, hint)
    }
    const onUws = listens.find((one) => one.isTls && (engines.get(one.address) ?? engineTls) === 'uws')
    if (onUws !== undefined && spec.minTlsVersion === '1.3') {
      const message = `"ssl_protocols" without TLSv1.2 is not available on engine "uws", which serves ${onUws.address}`
      onUws.call.fail(message, undefined, 'set svc_engine node')
    }
    if (tls !== undefined && spec.clientCheck !== undefined) {
      const found = spec.names.find((name) => name.kind === 'pattern' || name.name.endsWith('.*'))
      const hint = 'the handshake must know the name: use exact names and "*.suffix"'
      if (found !== undefined) tls.call.fail('"ssl_verify_client" is not available for names that are patterns', undefined, hint)
    }
    if (onUws !== undefined && spec.clientCheck !== undefined) {
      const message = `"ssl_verify_client" is not available on engine "uws", which serves ${onUws.address}`
      onUws.call.fail(message, undefined, 'set svc_engine node')
    }
    if (onUws !== undefined && hasEarlyPage(spec, EARLY_FAULTS.plainHttp)) {
      const message = `"error_page ${EARLY_FAULTS.plainHttp}" is not available on engine "uws", which serves ${onUws.address}`
      onUws.call.fail(message, undefined, 'set svc_engine node')
    }
    if (onUws !== undefined && spec.rejectsHandshakes) {
      const message = `"ssl_reject_handshake" is not available on engine "uws", which serves ${onUws.address}`
      onUws.call.fail(message, undefined, 'set svc_engine node')
    }
    if (onUws !== undefined && spec.certificates.length > 1) {
      const message = `engine "uws", which serves ${onUws.address}, has one certificate for a name`
      onUws.call.fail(message, undefined, 'set svc_engine node, or of RSA and ECDSA keep ECDSA')
    }
  }
}

/** An address speaks TLS for all of its servers or for none. */
function noticeMixedTls(drafts: readonly ServerDraft[], { problems }: ReadingTools): void {
  const tls = new Map<string, Place>()
  for (const { listens } of drafts) for (const { address, isTls, call } of listens) if (isTls) tls.set(address, call.place)
  for (const { listens } of drafts) {
    for (const { address, isTls, call } of listens) {
      const other = tls.get(address)
      if (!isTls && other !== undefined)
        problems.notice(`tls ${address}`, call.place, `${address} speaks TLS, as ${formatPlace(other)} says`)
    }
  }
}

/** Checks what server blocks have to do with each other and with the sites of the config file. */
export function checkServers(drafts: readonly ServerDraft[], surroundings: ServerSurroundings, tools: ReadingTools): void {
  checkHosts(drafts, surroundings)
  checkDefaults(drafts)
  checkEngines(drafts.flatMap(({ listens }) => listens))
  checkTls(drafts, surroundings)
  noticeMixedTls(drafts, tools)
}
