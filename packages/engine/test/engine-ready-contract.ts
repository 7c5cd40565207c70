import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { HttpExchange } from '@svc/http'
import type { ReadyRequest, ReadyResponse, ReadyResponses } from '../src/exchange/ready-responses.ts'
import { HeaderBlocks, readyHeadOf } from '../src/exchange/response-head.ts'
import { type ContractFacts, type ContractSubject, plainHttp1 } from './engine-contract-types.ts'

/** Starts an engine that asks `ready` first. */
export type StartReadySubject = (
  t: TestContext,
  handler: (exchange: HttpExchange) => void,
  ready: ReadyResponses,
) => Promise<ContractSubject>

const blocks = new HeaderBlocks((error) => assert.fail(error))
const typed = { status: 200, headers: [['content-type', 'text/plain'] as const, ['x-note', 'caf\u00e9'] as const] }
const large = Buffer.alloc(3_000_000, 'x')

/** Requests, and the ends of their responses. */
class Shelf implements ReadyResponses {
  readonly asked: string[] = []
  readonly ends: string[] = []
  readonly ended = Promise.withResolvers<void>()

  find({
    method,
    host,
    target,
    parsed,
    acceptEncoding,
    ifNoneMatch,
    hasCookie,
    isSpecial,
  }: ReadyRequest): ReadyResponse | undefined {
    this.asked.push([method, host, target, parsed.path, acceptEncoding, ifNoneMatch, hasCookie, isSpecial].join(' '))
    const response = (status: number, body: Uint8Array | undefined, length = '') => ({
      head: readyHeadOf(blocks.of({ ...typed, status })),
      body,
      length,
    })
    switch (parsed.path) {
      case '/small':
        return method === 'HEAD' ? response(200, undefined, '5') : response(200, Buffer.from('ready'))
      case '/large':
        return response(200, large)
      case '/304':
        return response(304, undefined)
      case '/bare':
        return { head: readyHeadOf(blocks.of({ status: 204, headers: [] })), body: undefined, length: '' }
      default:
        return undefined
    }
  }

  sent(): void {
    this.ends.push('sent')
    this.ended.resolve()
  }

  sentLater(): (isAborted: boolean) => void {
    return (isAborted) => {
      this.ends.push(isAborted ? 'aborted' : 'sent')
      this.ended.resolve()
    }
  }
}

const keepAlive = { connection: 'keep-alive' }

/** How every engine asks for ready responses and writes them. */
export function engineReadyContract(name: string, start: StartReadySubject, facts: ContractFacts = plainHttp1): void {
  const begin = async (t: TestContext) => {
    const shelf = new Shelf()
    const handled: string[] = []
    const subject = await start(
      t,
      (exchange) => {
        handled.push(`${exchange.request.method} ${exchange.request.target}`)
        exchange.respond({ status: 200, headers: [] }, Buffer.from('made'))
      },
      shelf,
    )
    return { shelf, handled, subject }
  }

  describe(`${name} keeps the contract of ready responses`, { concurrency: true }, () => {
    test('asks with what the request says and writes what it gets', async (t) => {
      const { shelf, handled, subject } = await begin(t)
      const headers = { ...keepAlive, host: 'A.Test:1', 'accept-encoding': 'br', 'if-none-match': '"x"', cookie: 'a=b' }
      const response = await subject.send({ url: '/%73mall?q', headers })
      assert.deepEqual([response.status, response.body.toString(), response.aborted], [200, 'ready', false])
      assert.equal(response.headers['content-type'], 'text/plain')
      assert.equal(response.headers['x-note'], 'caf\u00e9')
      assert.equal(response.headers['content-length'], '5')
      assert.deepEqual(shelf.asked, ['GET a.test:1 /%73mall?q /small br "x" true false'])
      assert.deepEqual(shelf.ends, ['sent'])
      assert.deepEqual(handled, [])
    })

    test('sends no body with HEAD, 204 and 304', async (t) => {
      const { shelf, subject } = await begin(t)
      const head = await subject.send({ method: 'HEAD', url: '/small', headers: keepAlive })
      assert.deepEqual([head.status, head.headers['content-length'], head.body.byteLength], [200, '5', 0])
      const fresh = await subject.send({ url: '/304', headers: keepAlive })
      assert.deepEqual([fresh.status, fresh.headers['content-length'], fresh.body.byteLength], [304, undefined, 0])
      const bare = await subject.send({ url: '/bare', headers: keepAlive })
      assert.deepEqual([bare.status, bare.headers['content-length'], bare.headers['content-type']], [204, undefined, undefined])
      assert.deepEqual(shelf.ends, ['sent', 'sent', 'sent'])
    })

    test('sends a large body whole, to a slow reader too', async (t) => {
      const { shelf, subject } = await begin(t)
      for (const isSlow of [false, true]) {
        const response = await subject.send({ url: '/large', headers: keepAlive, isSlow })
        assert.ok(response.body.equals(large))
        assert.equal(response.headers['content-length'], String(large.byteLength))
      }
      assert.deepEqual(shelf.ends, ['sent', 'sent'])
    })

    test('hands everything else to the handler, asked or not', async (t) => {
      const { shelf, handled, subject } = await begin(t)
      await subject.send({ url: '/other', headers: keepAlive })
      assert.deepEqual(shelf.asked.length, 1)
      await subject.send({ method: 'POST', url: '/small', headers: keepAlive })
      await subject.send({ url: '/small', headers: { ...keepAlive, 'content-length': '4' }, body: 'body' })
      assert.deepEqual(shelf.asked.length, 1)
      assert.deepEqual(handled, ['GET /other', 'POST /small', 'GET /small'])
      assert.deepEqual(shelf.ends, [])
    })

    test('tells a client that wants the connection closed that it is', { skip: !facts.hasConnectionFields }, async (t) => {
      const { shelf, handled, subject } = await begin(t)
      const headers = { connection: 'close' }
      for (const url of ['/small', '/304', '/large']) {
        const response = await subject.send({ url, headers })
        assert.deepEqual([url, response.headers.connection, response.aborted], [url, 'close', false])
      }
      const head = await subject.send({ method: 'HEAD', url: '/small', headers })
      assert.deepEqual([head.status, head.headers.connection, head.headers['content-length']], [200, 'close', '5'])
      assert.deepEqual(shelf.ends, ['sent', 'sent', 'sent', 'sent'])
      for (const connection of ['close', 'Close', 'TE, close'])
        assert.equal((await subject.send({ url: '/other', headers: { connection } })).headers.connection, 'close')
      assert.deepEqual(handled, ['GET /other', 'GET /other', 'GET /other'])
    })

    test('says which requests are more than a plain read', async (t) => {
      const { shelf, subject } = await begin(t)
      const special = {
        authorization: 'x',
        range: 'bytes=0-1',
        'if-range': '"x"',
        'if-match': '"x"',
        'if-modified-since': 'x',
        'if-unmodified-since': 'x',
        'cache-control': 'x',
        ...(facts.hasConnectionFields ? { upgrade: 'x' } : {}),
        forwarded: 'x',
        'x-forwarded-host': 'x',
        'x-forwarded-proto': 'x',
      }
      for (const [field, value] of Object.entries(special))
        await subject.send({ url: '/', headers: { ...keepAlive, [field]: value } })
      assert.ok(shelf.asked.every((asked) => asked.endsWith(' true')))
      await subject.send({ url: '/', headers: { ...keepAlive, accept: 'x', referer: 'x', 'x-forwarded-for': 'x', pragma: 'x' } })
      assert.ok(shelf.asked.at(-1)?.endsWith(' false'))
    })
  })
}

/** For engines with sockets: the client of a large response leaves. */
export function leavingClientContract(start: StartReadySubject): void {
  test('a client that leaves ends its ready response, once', async (t) => {
    const shelf = new Shelf()
    const subject = await start(t, () => assert.fail('must not be handled'), shelf)
    const response = await subject.send({ url: '/large', headers: keepAlive, leaveAtFirstChunk: true })
    assert.equal(response.aborted, true)
    await shelf.ended.promise
    assert.equal(shelf.ends.length, 1)
    assert.deepEqual(subject.problems, [])
  })
}
