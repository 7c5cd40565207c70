import { type JsonWebKey, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Cleanup, fetchHttp } from '@svc/testkit'
import { Authority, type Validity } from './authority.ts'
import { readSigned, type SignedRequest, thumbprint } from './jws.ts'

interface Account {
  readonly url: string
  readonly key: JsonWebKey
  contact: unknown
}

interface Authorization {
  readonly host: string
  readonly token: string
  status: 'pending' | 'valid' | 'invalid'
  reason: string
}

interface Order {
  readonly authorization: string
  readonly host: string
  chain: string | undefined
}

/** An answer that is not what was asked for (RFC 8555 section 6.7). */
export class Refusal extends Error {
  readonly status: number
  readonly type: string
  /** Seconds. */
  readonly retryAfter: number | undefined

  constructor(status: number, type: string, detail: string, retryAfter?: number) {
    super(detail)
    this.status = status
    this.type = type
    this.retryAfter = retryAfter
  }
}

const ADDRESS = '127.0.0.1'
const DAY_MS = 24 * 3_600_000

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** A certificate authority by the book (RFC 8555), as far as one host name by proof over HTTP needs it. */
export class AcmeServer {
  /** Origins of plain HTTP at which hosts are validated. */
  reachable: Promise<string>
  readonly lead: (origin: string) => void
  readonly authority: Authority
  /** Hosts of orders, in the order of the requests. */
  readonly orders: string[] = []
  readonly contacts: unknown[] = []
  /** Nonces to be refused although they are good. */
  badNonces = 0
  /** Asked before an order for a host is taken: throws a `Refusal`, or takes its time. */
  onOrder: (host: string) => Promise<void> | void = () => undefined
  /** Hosts that cannot be reached. */
  readonly unreachable = new Set<string>()
  /** Says when the next certificates begin and end. */
  validity: () => Validity = () => ({ from: new Date(Date.now() - DAY_MS), to: new Date(Date.now() + 89 * DAY_MS) })
  readonly #nonces = new Set<string>()
  readonly #accounts = new Map<string, Account>()
  readonly #authorizations = new Map<string, Authorization>()
  readonly #orders = new Map<string, Order>()
  #origin = ''
  #stop: () => Promise<void> = async () => undefined

  private constructor(t: Cleanup) {
    const { promise, resolve } = Promise.withResolvers<string>()
    this.reachable = promise
    this.lead = (origin) => {
      resolve(origin)
      this.reachable = Promise.resolve(origin)
    }
    this.authority = new Authority(t)
  }

  /** @param scheme `https`: with a certificate that only those trust who know its root */
  static async start(t: Cleanup, scheme: 'http' | 'https' = 'http'): Promise<AcmeServer> {
    const acme = new AcmeServer(t)
    const handle = (request: IncomingMessage, response: ServerResponse) => void acme.#handle(request, response)
    const server = scheme === 'https' ? createSecureServer(acme.authority.certify(ADDRESS), handle) : createServer(handle)
    server.listen(0, ADDRESS)
    await once(server, 'listening')
    acme.#stop = async () => {
      const closed = once(server, 'close')
      server.close().closeAllConnections()
      await closed
    }
    t.after(() => server.close().closeAllConnections())
    acme.#origin = `${scheme}://${ADDRESS}:${(server.address() as AddressInfo).port}`
    return acme
  }

  get directory(): string {
    return `${this.#origin}/directory`
  }

  /** Stops the server. */
  async stop(): Promise<void> {
    await this.#stop()
  }

  /** Forgets everybody: their accounts are unknown from now on. */
  forgetAccounts(): void {
    this.#accounts.clear()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const nonce = randomBytes(12).toString('base64url')
    this.#nonces.add(nonce)
    response.setHeader('Replay-Nonce', nonce)
    try {
      await this.#route(request, response)
    } catch (error) {
      const { status, type, message, retryAfter } =
        error instanceof Refusal
          ? error
          : new Refusal(500, 'serverInternal', error instanceof Error ? error.message : String(error))
      if (retryAfter !== undefined) response.setHeader('Retry-After', String(retryAfter))
      response.writeHead(status, { 'Content-Type': 'application/problem+json' })
      response.end(JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: message, status }))
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = `${this.#origin}${request.url}`
    const json = (status: number, value: unknown, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(value))
    }
    if (request.url === '/directory') {
      const at = (name: string) => `${this.#origin}/${name}`
      return json(200, { newNonce: at('new-nonce'), newAccount: at('new-account'), newOrder: at('new-order') })
    }
    if (request.url === '/new-nonce') return void response.writeHead(200).end()
    const signed = readSigned(await bodyOf(request))
    this.#checkFresh(signed, url)
    if (request.url === '/new-account') return this.#newAccount(signed, json)
    const account = this.#accountOf(signed)
    const [, kind = '', id = ''] = (request.url ?? '').split('/')
    switch (kind) {
      case 'account':
        account.contact = signed.payload?.['contact']
        this.contacts.push(account.contact)
        return json(200, { status: 'valid' })
      case 'new-order':
        return this.#newOrder(signed, json)
      case 'order':
        return json(200, this.#orderShown(id))
      case 'authorization':
        return json(200, this.#authorizationShown(id))
      case 'challenge':
        await this.#validate(id, account)
        return json(200, this.#authorizationShown(id).challenges[0])
      case 'finalize':
        this.#finalize(id, signed)
        return json(200, this.#orderShown(id), { Location: `${this.#origin}/order/${id}` })
      case 'certificate':
        return void response
          .writeHead(200, { 'Content-Type': 'application/pem-certificate-chain' })
          .end(this.#orders.get(id)?.chain)
      default:
        throw new Refusal(404, 'malformed', 'no such resource')
    }
  }

  /** Each nonce counts once, and what was signed for one URL is for that one alone (RFC 8555 sections 6.4 and 6.5). */
  #checkFresh({ header }: SignedRequest, url: string): void {
    if (!this.#nonces.delete(header.nonce) || this.badNonces-- > 0) throw new Refusal(400, 'badNonce', 'use another nonce')
    if (header.url !== url) throw new Refusal(401, 'unauthorized', 'signed for another resource')
  }

  #newAccount(signed: SignedRequest, json: (status: number, value: unknown, headers: Record<string, string>) => void): void {
    const { jwk } = signed.header
    if (jwk === undefined || !signed.isBy(jwk)) throw new Refusal(401, 'unauthorized', 'the signature is wrong')
    if (signed.payload?.['termsOfServiceAgreed'] !== true) throw new Refusal(403, 'userActionRequired', 'agree to the terms')
    const url = `${this.#origin}/account/${thumbprint(jwk)}`
    const isKnown = this.#accounts.has(url)
    const { contact } = signed.payload
    if (!isKnown) {
      this.#accounts.set(url, { url, key: jwk, contact })
      this.contacts.push(contact)
    }
    json(isKnown ? 200 : 201, { status: 'valid' }, { Location: url })
  }

  #accountOf(signed: SignedRequest): Account {
    const account = this.#accounts.get(signed.header.kid ?? '')
    if (account === undefined) throw new Refusal(400, 'accountDoesNotExist', 'there is no such account')
    if (!signed.isBy(account.key)) throw new Refusal(401, 'unauthorized', 'the signature is wrong')
    return account
  }

  async #newOrder(
    signed: SignedRequest,
    json: (status: number, value: unknown, headers: Record<string, string>) => void,
  ): Promise<void> {
    const identifiers = signed.payload?.['identifiers'] as { type: string; value: string }[]
    const [first, ...others] = identifiers
    if (first?.type !== 'dns' || others.length > 0) throw new Refusal(400, 'rejectedIdentifier', 'one name at a time')
    const host = first.value
    this.orders.push(host)
    await this.onOrder(host)
    const id = randomBytes(6).toString('hex')
    this.#authorizations.set(id, { host, token: randomBytes(24).toString('base64url'), status: 'pending', reason: '' })
    this.#orders.set(id, { authorization: id, host, chain: undefined })
    json(201, this.#orderShown(id), { Location: `${this.#origin}/order/${id}` })
  }

  #orderShown(id: string) {
    const order = this.#orders.get(id)
    const authorization = this.#authorizations.get(id)
    if (order === undefined || authorization === undefined) throw new Refusal(404, 'malformed', 'no such order')
    const open = { pending: 'pending', valid: 'ready', invalid: 'invalid' }[authorization.status]
    return {
      status: order.chain === undefined ? open : 'valid',
      identifiers: [{ type: 'dns', value: order.host }],
      authorizations: [`${this.#origin}/authorization/${id}`],
      finalize: `${this.#origin}/finalize/${id}`,
      ...(order.chain === undefined ? {} : { certificate: `${this.#origin}/certificate/${id}` }),
    }
  }

  #authorizationShown(id: string) {
    const authorization = this.#authorizations.get(id)
    if (authorization === undefined) throw new Refusal(404, 'malformed', 'no such authorization')
    const { host, token, status, reason } = authorization
    const error = status === 'invalid' ? { error: { type: 'urn:ietf:params:acme:error:connection', detail: reason } } : {}
    const challenge = { type: 'http-01', url: `${this.#origin}/challenge/${id}`, token, status, ...error }
    return { status, identifier: { type: 'dns', value: host }, challenges: [challenge] }
  }

  /** Really asks the host (RFC 8555 section 8.3). */
  async #validate(id: string, { key }: Account): Promise<void> {
    const authorization = this.#authorizations.get(id)
    if (authorization === undefined) throw new Refusal(404, 'malformed', 'no such challenge')
    const { host, token } = authorization
    const origin = await this.reachable
    const answer = this.unreachable.has(host)
      ? undefined
      : await fetchHttp(`${origin}/.well-known/acme-challenge/${token}`, { host }).catch(() => undefined)
    const isProved = answer?.status === 200 && answer.text === `${token}.${thumbprint(key)}`
    authorization.status = isProved ? 'valid' : 'invalid'
    authorization.reason = answer === undefined ? `cannot connect to ${host}` : `${host} answered ${answer.status}`
  }

  #finalize(id: string, signed: SignedRequest): void {
    const order = this.#orders.get(id)
    if (order === undefined || this.#orderShown(id).status !== 'ready') throw new Refusal(403, 'orderNotReady', 'not proved yet')
    const request = Buffer.from(String(signed.payload?.['csr']), 'base64url')
    if (this.authority.hostsOf(request).join() !== order.host) throw new Refusal(400, 'badCSR', 'for another name')
    order.chain = this.authority.sign(request, this.validity())
  }
}
