import { addressOfListenName } from '@svc/config'
import { ServerNames } from '@svc/engine'
import { parseHost } from '@svc/http'
import type { GenerationSpec } from '@svc/protocol'

const HTTPS_PORT = 443

interface SecureAddress {
  readonly names: ServerNames
  readonly port: number
}

/** Which hosts have a certificate, and where they are served with it. */
export class SecureHosts {
  readonly #addresses: readonly SecureAddress[]

  constructor({ listen, tls, config }: Pick<GenerationSpec, 'listen' | 'tls' | 'config'>) {
    const own = config.server.listen_tls
    const isOwn = ({ name }: { readonly name: string }) => addressOfListenName(name) === own
    const inOrder = [...listen].sort((one, other) => Number(isOwn(other)) - Number(isOwn(one)))
    this.#addresses = inOrder.flatMap(({ name, port, socket }) => {
      const names = tls[name]
      return names === undefined || socket !== undefined ? [] : [{ names: new ServerNames(names), port }]
    })
  }

  /** The origin with https of a host that has a certificate. `host` may have a port, which is that of plain HTTP. */
  originOf(host: string): string | undefined {
    const parsed = parseHost(host)
    if (parsed === 'bad_host') return undefined
    const { hostname } = parsed
    const address = this.#addresses.find(({ names }) => names.find(hostname) !== undefined)
    if (address === undefined) return undefined
    return address.port === HTTPS_PORT ? `https://${hostname}` : `https://${hostname}:${address.port}`
  }
}

/** The names that have certificates, whatever those are. */
export function secureNames({ tls }: Pick<GenerationSpec, 'tls'>): unknown {
  return Object.entries(tls).map(([address, { names }]) => [address, names.map(([name]) => name)])
}
