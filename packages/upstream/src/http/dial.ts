import { type OnReadOpts, Socket } from 'node:net'
import type { DetailedPeerCertificate, PeerCertificate, SecureContext } from 'node:tls'
import { asError } from '@svc/core'
import { UpstreamError } from '../errors/errors.ts'
import type { ServerAddress } from '../resolver/server-address.ts'
import type { AddressBook } from './addresses.ts'

/** How a server is spoken to. */
export interface Transport {
  readonly server: ServerAddress
  /** undefined: without TLS. */
  readonly tls: TlsTransport | undefined
}

export interface TlsTransport {
  /** Name for SNI; undefined: none is sent. */
  readonly serverName: string | undefined
  /** True if the certificate is checked. */
  readonly isVerified: boolean
  /** Name or address for the check; absent: that of SNI, else the address that is connected to. */
  readonly verifiedName?: string
  /** Most certificates between the server's own and the trusted one; absent: any number. */
  readonly maxDepth?: number
  /** Certificates, protocols and ciphers, with a text that tells them apart; absent: those of Node.js. */
  readonly context?: { readonly key: string; readonly secure: SecureContext }
}

/** Called when dialing ends: one of the two, once. */
interface DialEvents {
  connected(socket: Socket): void
  failed(error: UpstreamError): void
}

/** Dependencies of dialing. */
interface DialOptions {
  readonly transport: Transport
  readonly addresses: AddressBook
  /** For each address. */
  readonly timeoutMs: number
  /** Takes the bytes of a connection without TLS. undefined, or with TLS: they come as `data` events. */
  readonly onread: OnReadOpts | undefined
}

/** A connection that is being made. */
export interface Dialing {
  /** Aborts the attempt. Neither event follows. */
  abort(): void
}

/** Makes a connection: to each address of the name in turn, until one answers. */
export function dial(options: DialOptions, events: DialEvents): Dialing {
  const attempt = new DialAttempt(options, events)
  attempt.start()
  return attempt
}

class DialAttempt implements Dialing {
  readonly #options: DialOptions
  readonly #events: DialEvents
  #socket: Socket | undefined
  /** Takes the listeners off the socket. */
  #detach: () => void = () => undefined
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(options: DialOptions, events: DialEvents) {
    this.#options = options
    this.#events = events
  }

  start(): void {
    const { server } = this.#options.transport
    if (server.kind === 'unix') {
      this.#try([server.path], 0)
      return
    }
    const known = this.#options.addresses.known(server.host)
    if (known !== undefined) this.#try(known, 0)
    else this.#resolve(server.host)
  }

  abort(): void {
    this.#isOver = true
    this.#drop()
  }

  #resolve(host: string): void {
    this.#timer = setTimeout(() => this.#timedOut([], 0), this.#options.timeoutMs)
    this.#options.addresses.find(host).then(
      (addresses) => {
        clearTimeout(this.#timer)
        this.#try(addresses, 0)
      },
      (error) => {
        clearTimeout(this.#timer)
        this.#fail(new UpstreamError('UPSTREAM_UNREACHABLE', `${host} has no address`, { cause: asError(error) }))
      },
    )
  }

  #try(addresses: readonly string[], index: number): void {
    if (this.#isOver) return
    const address = addresses[index]
    if (address === undefined) {
      this.#fail(new UpstreamError('UPSTREAM_UNREACHABLE', `${this.#name} has no address`))
      return
    }
    const socket = this.#open(address)
    this.#socket = socket
    this.#timer = setTimeout(() => this.#timedOut(addresses, index), this.#options.timeoutMs)
    const failed = (error: Error) => this.#next(addresses, index, this.#unreachable(address, error))
    const closed = () => this.#next(addresses, index, this.#unreachable(address, undefined))
    this.#detach = () => {
      socket.off('error', failed)
      socket.off('close', closed)
    }
    socket.once('error', failed)
    socket.once('close', closed)
    socket.once(this.#options.transport.tls === undefined ? 'connect' : 'secureConnect', () => {
      clearTimeout(this.#timer)
      this.#detach()
      this.#socket = undefined
      if (this.#isOver) return
      this.#isOver = true
      this.#tell(address, true)
      this.#events.connected(socket)
    })
  }

  #open(address: string): Socket {
    const { transport, onread } = this.#options
    const { server, tls } = transport
    const where = server.kind === 'unix' ? { path: address } : { host: address, port: server.port }
    if (tls === undefined) return new UpstreamSocket(onread).connect(where)
    // Loaded with the first connection that needs it: it is a tenth of the start of a worker.
    return process
      .getBuiltinModule('node:tls')
      .connect({
        ...where,
        rejectUnauthorized: tls.isVerified,
        ...(tls.context !== undefined && { secureContext: tls.context.secure }),
        ...(tls.isVerified && { checkServerIdentity: (host, certificate) => checkIdentity(tls, host, certificate) }),
        ALPNProtocols: ['http/1.1'],
        ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
      })
      .setNoDelay(true)
  }

  #timedOut(addresses: readonly string[], index: number): void {
    const message = `${this.#name} did not accept a connection in ${this.#options.timeoutMs} ms`
    this.#next(addresses, index, new UpstreamError('UPSTREAM_TIMEOUT', message))
  }

  #next(addresses: readonly string[], index: number, error: UpstreamError): void {
    if (this.#isOver) return
    this.#drop()
    const address = addresses[index]
    if (address !== undefined) this.#tell(address, false)
    if (index + 1 < addresses.length) this.#try(addresses, index + 1)
    else this.#fail(error)
  }

  #tell(address: string, hasAnswered: boolean): void {
    const { transport, addresses } = this.#options
    if (transport.server.kind === 'port') addresses.tried(transport.server.host, address, hasAnswered)
  }

  #fail(error: UpstreamError): void {
    if (this.#isOver) return
    this.#isOver = true
    const { server } = this.#options.transport
    if (server.kind === 'port') this.#options.addresses.forget(server.host)
    this.#events.failed(error)
  }

  #drop(): void {
    clearTimeout(this.#timer)
    const socket = this.#socket
    this.#socket = undefined
    if (socket === undefined) return
    this.#detach()
    // Later errors of the socket do not matter.
    socket.on('error', () => undefined)
    socket.destroy()
  }

  #unreachable(address: string, cause: Error | undefined): UpstreamError {
    const message = `cannot connect to ${this.#name} (${address})`
    return new UpstreamError('UPSTREAM_UNREACHABLE', message, cause === undefined ? {} : { cause })
  }

  get #name(): string {
    const { server } = this.#options.transport
    return server.kind === 'unix' ? `unix:${server.path}` : `${server.host}:${server.port}`
  }
}

function checkIdentity({ verifiedName, maxDepth }: TlsTransport, host: string, certificate: PeerCertificate): Error | undefined {
  // Node.js gives the whole chain.
  const depth = maxDepth === undefined ? 0 : intermediatesOf(certificate as DetailedPeerCertificate)
  if (maxDepth !== undefined && depth > maxDepth)
    return new UpstreamError('UPSTREAM_UNREACHABLE', `${depth} intermediate certificates, more than ${maxDepth}`)
  return process.getBuiltinModule('node:tls').checkServerIdentity(verifiedName ?? host, certificate)
}

/** Certificates between a server's own and the one at the end of its chain. */
function intermediatesOf(certificate: DetailedPeerCertificate): number {
  const seen = new Set<DetailedPeerCertificate>()
  for (
    let one: DetailedPeerCertificate | undefined = certificate;
    one !== undefined && !seen.has(one);
    one = one.issuerCertificate
  )
    seen.add(one)
  return Math.max(0, seen.size - 2)
}

/**
 * A socket whose received bytes are read although nothing more can be written: a server that refuses a body answers and
 * closes the connection, which is found out by writing before the response is read.
 */
class UpstreamSocket extends Socket {
  #isFailing = false

  constructor(onread: OnReadOpts | undefined) {
    super(onread === undefined ? {} : { onread })
    this.setNoDelay(true)
  }

  override destroy(error?: Error & { readonly syscall?: string }): this {
    if (error?.syscall !== 'write') return super.destroy(error)
    if (this.#isFailing) return this
    this.#isFailing = true
    // Between the two, all received bytes are read from the system.
    setImmediate(() => setImmediate(() => super.destroy(error)))
    return this
  }
}
