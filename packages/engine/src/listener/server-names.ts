import { isDeepStrictEqual } from 'node:util'
import type { ListenerTls } from '@svc/http'
import { parseHost } from '@svc/http'

/** Answers that are remembered: clients ask for a host with every request. */
const MAX_REMEMBERED = 1024

/** Which certificate of a listen address belongs to which name. */
export class ServerNames {
  readonly #names: ReadonlyMap<string, string>
  readonly #fallback: string
  /** Ids of the certificates whose clients are asked for one. */
  readonly #guarded: ReadonlySet<string>
  /** The file of each certificate, by id: one certificate may be used in several ways. */
  readonly #files: ReadonlyMap<string, string>
  /** True if a name and a host go together, by `name host`. */
  readonly #misdirected = new Map<string, boolean>()

  constructor({ names, fallback, certificates }: Pick<ListenerTls, 'names' | 'fallback' | 'certificates'>) {
    this.#names = new Map(names)
    this.#fallback = fallback
    this.#files = new Map(certificates.map(({ id, certFile }) => [id, certFile]))
    this.#guarded = new Set(certificates.flatMap(({ id, clients }) => (clients === undefined ? [] : [id])))
  }

  /** Id of the certificate for a name in lower case: that of the exact name, or of the longest `*.suffix`. */
  find(name: string): string | undefined {
    const exact = this.#names.get(name)
    if (exact !== undefined) return exact
    for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
      const id = this.#names.get(`*${name.slice(dot)}`)
      if (id !== undefined) return id
    }
    return undefined
  }

  /** The same, or that of all other names. */
  certificateOf(name: string): string {
    return this.find(name) ?? this.#fallback
  }

  #fileOf(name: string): string {
    const id = this.certificateOf(name)
    return this.#files.get(id) ?? id
  }

  /**
   * True if a request for a host must have come by a handshake in which clients of this host were asked for a certificate, and did not.
   * @param handshake id of the certificate of the connection; undefined: clients were asked for none
   */
  isUnguarded(handshake: string | undefined, host: string): boolean {
    if (this.#guarded.size === 0) return false
    const parsed = parseHost(host)
    const id = this.certificateOf(parsed === 'bad_host' ? '' : parsed.hostname)
    return this.#guarded.has(id) && id !== handshake
  }

  /**
   * True if a connection that was opened for one name must not be used for a host, because that one has another certificate
   * (RFC 9110 section 7.4).
   * @param host value of the Host field in lower case, may have a port
   */
  isMisdirected(serverName: string, host: string): boolean {
    if (host === serverName) return false
    const key = `${serverName} ${host}`
    const known = this.#misdirected.get(key)
    if (known !== undefined) return known
    const parsed = parseHost(host)
    const isMisdirected = parsed !== 'bad_host' && this.#fileOf(serverName) !== this.#fileOf(parsed.hostname)
    if (this.#misdirected.size >= MAX_REMEMBERED) this.#misdirected.clear()
    this.#misdirected.set(key, isMisdirected)
    return isMisdirected
  }
}

/** True if clients are served in the same way, wherever the files of the certificates are named by now. */
export function isSameTls(one: ListenerTls | undefined, other: ListenerTls): boolean {
  return one !== undefined && isDeepStrictEqual(served(one), served(other))
}

function served({ certificates, ...rest }: ListenerTls) {
  return { ids: certificates.map(({ id }) => id), ...rest }
}
