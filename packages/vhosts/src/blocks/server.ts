import * as answers from '../directives/answers.ts'
import { locationBlock, type WrittenLocation } from '../directives/blocks.ts'
import type { DirectiveCall, ReadingTools } from '../directives/directive-call.ts'
import * as rewriting from '../directives/rewriting.ts'
import * as serving from '../directives/serving.ts'
import { proxyPass } from '../directives/upstreams.ts'
import type { ContentSpec, LocationMatch, LocationSpec, ServerSpec } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { readListen } from '../values/addresses.ts'
import { Level } from './level.ts'
import { appOf, inheritedContent, settingsOf } from './settings.ts'
import { locationSiteId } from './site-id.ts'
import { upstreamContent } from './upstream-content.ts'
import type { UpstreamTable } from './upstream-table.ts'

/** An application that a vhost file names. */
export interface AppDraft {
  readonly id: string
  readonly dir: string
  readonly call: DirectiveCall
}

/** A server as it was read, with what its site is made from. */
export interface ServerDraft {
  readonly spec: ServerSpec
  readonly call: DirectiveCall
  readonly level: Level
  readonly listens: readonly serving.WrittenListen[]
  readonly names: readonly serving.WrittenName[]
  readonly app: AppDraft | undefined
  /** Applications of its locations. */
  readonly locationApps: readonly AppDraft[]
}

/** Key of the match of a location: two with the same are duplicates. nginx tries patterns in their order and does not compare them. */
function matchKey(match: LocationMatch): string {
  if (match.kind === 'pattern') return ''
  return `${match.kind} ${match.kind === 'named' ? match.name : match.path}`
}

/** The surroundings of a server block. */
interface ServerParts {
  readonly tools: ReadingTools
  readonly upstreams: UpstreamTable
  /** The directives of the block. */
  readonly level: Level
  /** Id of its site. */
  readonly site: string
}

/** Reads one server block. */
export class ServerReader {
  readonly #call: DirectiveCall
  readonly #parts: ServerParts
  readonly #locationApps: AppDraft[] = []
  readonly #seen = new Map<string, DirectiveCall>()

  constructor(call: DirectiveCall, parts: ServerParts) {
    this.#call = call
    this.#parts = parts
  }

  read(names: readonly serving.WrittenName[]): ServerDraft {
    const { level, site } = this.#parts
    const listens = this.#listens()
    const written = appOf(level)
    const app = written === undefined ? undefined : { id: site, dir: written.path, call: written.call }
    const serverApp: ContentSpec | undefined = app === undefined ? undefined : { kind: 'app', site }
    const locations = level.own(locationBlock).flatMap((location) => this.#location(location, serverApp) ?? [])
    const [first] = names
    const spec: ServerSpec = {
      site,
      place: this.#placeText(this.#call),
      listen: listens.map(({ address, isTls, isDefault }) => ({ address, isTls, isDefault })),
      names: names.map(({ spec }) => spec),
      name: first?.text ?? '',
      certificate: this.#certificate(),
      minTlsVersion: level.nearest(serving.sslProtocols).toSorted()[0],
      rewrites: level.own(rewriting.rewrite),
      fallback: settingsOf(level, inheritedContent(level, serverApp)),
      locations,
    }
    this.#checkAuth(level, this.#call)
    this.#checkNamed(spec)
    return { spec, call: this.#call, level, listens, names, app, locationApps: this.#locationApps }
  }

  #listens(): ServerDraft['listens'] {
    const written = this.#parts.level.own(serving.listen)
    const seen = new Map<string, DirectiveCall>()
    for (const { address, call } of written) {
      const before = seen.get(address)
      if (before !== undefined) call.fail(`a duplicate listen ${address}`, 0, `first at ${formatPlace(before.place)}`)
      seen.set(address, call)
    }
    const isMissing = !(this.#call.directive.block ?? []).some(({ name }) => name.text === 'listen')
    if (!isMissing) return written
    const usual = readListen([process.getuid?.() === 0 ? '*:80' : '*:8000'])
    return 'error' in usual ? [] : [{ ...usual.listen, call: this.#call }]
  }

  #certificate(): ServerSpec['certificate'] {
    const cert = this.#parts.level.value(serving.sslCertificate)
    const key = this.#parts.level.value(serving.sslCertificateKey)
    if (cert !== undefined && key === undefined) {
      cert.call.fail(`no "ssl_certificate_key" is defined for certificate "${cert.path}"`)
    }
    if (cert === undefined || key === undefined) return undefined
    return { cert: cert.path, key: key.path, at: { cert: cert.call.argPlace(0), key: key.call.argPlace(0) } }
  }

  #location({ match, call }: WrittenLocation, serverApp: ContentSpec | undefined): LocationSpec | undefined {
    const key = matchKey(match)
    const before = this.#seen.get(key)
    if (key !== '' && before !== undefined) {
      call.fail(
        `duplicate location "${shown(call.args.at(-1) ?? '')}"`,
        call.args.length - 1,
        `first at ${formatPlace(before.place)}`,
      )
    }
    this.#seen.set(key, call)
    const level = new Level('location', this.#parts.level)
    level.read(call.directive.block ?? [], this.#parts.tools)
    const [dir] = level.own(serving.root)
    if (dir?.kind === 'alias' && match.kind === 'named')
      call.fail('the "alias" directive cannot be used inside the named location')
    const settings = settingsOf(level, this.#content(level, match, serverApp))
    this.#checkAuth(level, call)
    return { ...settings, match, place: this.#placeText(call) }
  }

  #content(level: Level, match: LocationMatch, serverApp: ContentSpec | undefined): ContentSpec {
    const app = appOf(level)
    if (app !== undefined) {
      const id = locationSiteId(this.#parts.site, match, new Set(this.#locationApps.map((known) => known.id)))
      this.#locationApps.push({ id, dir: app.path, call: app.call })
      return { kind: 'app', site: id }
    }
    const [pass] = level.own(proxyPass)
    if (pass === undefined || !('scheme' in pass)) return inheritedContent(level, serverApp)
    const target = this.#parts.upstreams.target(pass)
    return target === undefined ? { kind: 'files' } : upstreamContent(level, pass, target, match)
  }

  #checkAuth(level: Level, call: DirectiveCall): void {
    const realm = level.value(answers.authBasic)
    if (realm !== undefined && realm !== 'off' && level.value(answers.authBasicUserFile) === undefined) {
      call.fail('"auth_basic" needs "auth_basic_user_file"')
    }
  }

  /** Named locations that something leads to must be there. */
  #checkNamed({ locations, fallback }: ServerSpec): void {
    const named = new Set(locations.flatMap(({ match }) => (match.kind === 'named' ? [match.name] : [])))
    const check = (name: string, written: object) => {
      if (named.has(name)) return
      const call = this.#parts.tools.origins.get(written) ?? this.#call
      call.fail(`could not find named location "@${shown(name)}"`, undefined, `in the server at ${formatPlace(this.#call.place)}`)
    }
    for (const { tryFiles, errorPages } of [fallback, ...locations]) {
      if (tryFiles?.last.kind === 'named') check(tryFiles.last.name, tryFiles)
      for (const page of errorPages) if (page.target.kind === 'named') check(page.target.name, page)
    }
  }

  #placeText(call: DirectiveCall): string {
    const { file, line } = call.place
    return `${file}:${line}`
  }
}
