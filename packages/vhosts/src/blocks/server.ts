import { ignoreInvalidHeaders, mergeSlashes, underscoresInHeaders } from '../directives/answers.ts'
import type { DirectiveCall, ReadingTools } from '../directives/directive-call.ts'
import * as serving from '../directives/serving.ts'
import type { ContentSpec, ServerSpec } from '../spec/spec.ts'
import { settingsOfServer } from '../spec/walk.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import { shown } from '../syntax/vhost-problems.ts'
import { readListen } from '../values/addresses.ts'
import { type EngineListen, engineListen } from './address-engines.ts'
import { clientCheckOf } from './client-check.ts'
import type { Level } from './level.ts'
import { type AppDraft, checkAuth, LocationReader, placeText } from './locations.ts'
import { appOf, fallbackContent, settingsOf } from './settings.ts'
import type { UpstreamTable } from './upstream-table.ts'

/** A server as it was read, with what its site is made from. */
export interface ServerDraft {
  readonly spec: ServerSpec
  readonly call: DirectiveCall
  readonly level: Level
  readonly listens: readonly EngineListen[]
  readonly names: readonly serving.WrittenName[]
  readonly app: AppDraft | undefined
  /** Applications of its locations. */
  readonly locationApps: readonly AppDraft[]
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

/** The name of a server for `$server_name`. */
function nameOf(first: serving.WrittenName | undefined): string {
  if (first === undefined) return ''
  return first.spec.kind === 'pattern' ? `~${first.text}` : first.text
}

function fieldNamesOf(level: Level): ServerSpec['fieldNames'] {
  if (level.value(ignoreInvalidHeaders) === false) return 'all'
  return level.value(underscoresInHeaders) === true ? 'underscores' : 'plain'
}

/** Reads one server block. */
export class ServerReader {
  readonly #call: DirectiveCall
  readonly #parts: ServerParts
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
    const reader = new LocationReader({ ...this.#parts, serverApp })
    const locations = reader.locations(level)
    const [first] = names
    const spec: ServerSpec = {
      site,
      place: placeText(this.#call),
      listen: listens.map(({ address, isTls, isDefault, isProxied, choice }) => ({
        ...{ address, isTls, isDefault },
        ...(isProxied && { isProxied }),
        ...(choice && { engine: choice.engine }),
      })),
      names: names.map(({ spec }) => spec),
      name: nameOf(first),
      certificates: this.#certificates(),
      ciphers: level.value(serving.sslCiphers),
      clientCheck: clientCheckOf(level),
      rejectsHandshakes: level.value(serving.sslRejectHandshake) ?? false,
      minTlsVersion: level.nearest(serving.sslProtocols).toSorted()[0],
      mergesSlashes: level.value(mergeSlashes) ?? true,
      fieldNames: fieldNamesOf(level),
      rewrites: reader.steps(level, undefined),
      // Its rewriting runs before a location is looked for, and not once more where none is found.
      fallback: settingsOf(level, fallbackContent(level, serverApp), []),
      locations,
    }
    checkAuth(level, this.#call)
    this.#checkNamed(spec)
    return { spec, call: this.#call, level, listens, names, app, locationApps: reader.apps }
  }

  #listens(): ServerDraft['listens'] {
    const written = this.#parts.level.own(serving.listen)
    const seen = new Map<string, DirectiveCall>()
    for (const { address, call } of written) {
      const before = seen.get(address)
      if (before !== undefined) call.fail(`a duplicate listen ${address}`, 0, `first at ${formatPlace(before.place)}`)
      seen.set(address, call)
    }
    const isTls = this.#parts.level.value(serving.ssl) === true
    const { level } = this.#parts
    const isMissing = !(this.#call.directive.block ?? []).some(({ name }) => name.text === 'listen')
    if (!isMissing) return written.map((one) => engineListen(level, isTls ? { ...one, isTls } : one))
    const usual = readListen([process.getuid?.() === 0 ? '*:80' : '*:8000'])
    return 'error' in usual ? [] : [engineListen(level, { ...usual.listen, isTls, isHttp2: false, call: this.#call })]
  }

  #certificates(): ServerSpec['certificates'] {
    const keys = this.#parts.level.nearest(serving.sslCertificateKey)
    const passwords = this.#parts.level.value(serving.sslPasswordFile)?.path
    return this.#parts.level.nearest(serving.sslCertificate).flatMap((cert, index) => {
      const key = keys[index]
      if (key !== undefined)
        return [{ cert: cert.path, key: key.path, passwords, at: { cert: cert.call.argPlace(0), key: key.call.argPlace(0) } }]
      cert.call.fail(`no "ssl_certificate_key" is defined for certificate "${cert.path}"`)
      return []
    })
  }

  /** Named locations that something leads to must be there. */
  #checkNamed(server: ServerSpec): void {
    const named = new Set(server.locations.flatMap(({ match }) => (match.kind === 'named' ? [match.name] : [])))
    const check = (name: string, written: object) => {
      if (named.has(name)) return
      const call = this.#parts.tools.origins.get(written) ?? this.#call
      const message = `could not find named location "@${shown(name)}": requests that it is for get 500`
      call.notice(message, `named ${formatPlace(this.#call.place)} ${name}`)
    }
    for (const { tryFiles, errorPages } of settingsOfServer(server)) {
      if (tryFiles?.last.kind === 'named') check(tryFiles.last.name, tryFiles)
      for (const page of errorPages) if (page.target.kind === 'named') check(page.target.name, page)
    }
  }
}
