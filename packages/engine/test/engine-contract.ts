import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { codeOf } from '@svc/core'
import { type HttpExchange, MAX_LENT_BYTES, type RequestBody } from '@svc/http'
import { type ContractFacts, plainHttp1, type StartSubject } from './engine-contract-types.ts'
import { streamContract } from './engine-stream-contract.ts'

function readAll(body: RequestBody): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Uint8Array[] = []
  body.read(
    (chunk, ack) => {
      chunks.push(chunk)
      ack()
    },
    (error) => (error === undefined ? resolve(Buffer.concat(chunks)) : reject(error)),
  )
  return promise
}

const plain = { status: 200, headers: [['Content-Type', 'text/plain']] } as const

/** Contract of all engines. */
export function engineContract(name: string, start: StartSubject, facts: ContractFacts = plainHttp1): void {
  describe(`${name} keeps the engine contract`, { concurrency: true }, () => {
    failureContract(start)
    departureContract(start)
    requestContract(start, facts)
    bodyContract(start)
    responseContract(start)
    streamContract(start)
  })
}

function failureContract(start: StartSubject): void {
  test('a second answer is misuse', async (t) => {
    let code: string | undefined
    const subject = await start(t, (exchange) => {
      exchange.respond(plain, Buffer.from('one'))
      try {
        exchange.respond(plain, Buffer.from('two'))
      } catch (error) {
        code = codeOf(error)
      }
    })
    const response = await subject.send({ url: '/' })
    assert.equal(response.body.toString(), 'one')
    assert.equal(code, 'HTTP_MISUSE')
  })

  test('a second reader of the body is misuse', async (t) => {
    let code: string | undefined
    const subject = await start(t, (exchange) => {
      void readAll(exchange.body).then((body) => exchange.respond(plain, body))
      try {
        exchange.body.read(
          () => assert.fail('no chunk for the second reader'),
          () => assert.fail('no end for the second reader'),
        )
      } catch (error) {
        code = codeOf(error)
      }
    })
    const response = await subject.send({ method: 'POST', url: '/', body: 'once' })
    assert.equal(response.body.toString(), 'once')
    assert.equal(code, 'HTTP_MISUSE')
  })

  test('fields that would split the response are dropped and reported', async (t) => {
    const subject = await start(t, (exchange) => {
      const headers = [
        ['X-Good', 'yes'],
        ['X-Bad', 'a\r\nX-Injected: 1'],
        ['X-Na\r\nme', 'b'],
        ['Content-Length', '999'],
        ['Transfer-Encoding', 'chunked'],
      ] as const
      exchange.respond({ status: 200, headers }, Buffer.from('ok'))
    })
    const response = await subject.send({ url: '/' })
    assert.equal(response.headers['x-good'], 'yes')
    assert.equal(response.headers['x-bad'], undefined)
    assert.equal(response.headers['x-injected'], undefined)
    assert.equal(response.headers['content-length'], '2')
    assert.equal(response.body.toString(), 'ok')
    assert.deepEqual(
      subject.problems.map((problem) => codeOf(problem)),
      ['ENGINE_FIELD_DROPPED', 'ENGINE_FIELD_DROPPED'],
    )
  })

  test('a status that is none becomes 500', async (t) => {
    const subject = await start(t, (exchange) => exchange.respond({ status: 99, headers: [] }))
    assert.equal((await subject.send({ url: '/' })).status, 500)
  })

  test('a body over the limit is answered with 413 before the handler runs', async (t) => {
    let runs = 0
    const subject = await start(t, () => runs++, { maxBodyBytes: 10 })
    assert.equal((await subject.send({ method: 'POST', url: '/', body: 'x'.repeat(11) })).status, 413)
    assert.equal(runs, 0)
  })

  test('a body that outgrows the limit fails its reader, who may answer', async (t) => {
    let code: string | undefined
    const handler = (exchange: HttpExchange) => {
      readAll(exchange.body).catch((error) => {
        code = codeOf(error)
        exchange.respond({ status: 413, headers: [['X-By', 'handler']] })
      })
    }
    const subject = await start(t, handler, { maxBodyBytes: 10 })
    const chunks = [Buffer.alloc(8, 'a'), Buffer.alloc(8, 'b')]
    const response = await subject.send({ method: 'POST', url: '/', body: chunks })
    assert.equal(response.status, 413)
    assert.equal(response.headers['x-by'], 'handler')
    assert.equal(code, 'HTTP_BODY_TOO_LARGE')
  })

  test('a streamed body of another length than promised is cut and reported', async (t) => {
    const subject = await start(t, (exchange) => exchange.stream(plain, { length: 10 }).end(Buffer.from('short')))
    const response = await subject.send({ url: '/' })
    assert.equal(response.aborted, true)
    assert.deepEqual(
      subject.problems.map((problem) => codeOf(problem)),
      ['ENGINE_WRONG_LENGTH'],
    )
  })

  test('an aborted stream shows as incomplete, and the exchange as aborted', async (t) => {
    const closed = Promise.withResolvers<boolean>()
    const subject = await start(t, (exchange) => {
      exchange.onClosed(closed.resolve)
      const writer = exchange.stream(plain, { length: 100 })
      writer.write(Buffer.from('begin'))
      setImmediate(() => writer.abort())
    })
    assert.equal((await subject.send({ url: '/' })).aborted, true)
    assert.equal(await closed.promise, true)
  })

  test('after the client has disconnected, writing and responding do nothing', async (t) => {
    const outcome = Promise.withResolvers<unknown[]>()
    const subject = await start(t, (exchange) => {
      const writer = exchange.stream(plain)
      writer.write(Buffer.from('first'))
      exchange.onClosed((isAborted) => {
        const isTaken = writer.write(Buffer.from('late'))
        writer.end()
        writer.abort()
        outcome.resolve([isAborted, isTaken])
      })
    })
    await subject.send({ url: '/', leaveAtFirstChunk: true })
    assert.deepEqual(await outcome.promise, [true, true])
  })
}

/** Contract of all engines for clients that have disconnected. */
function departureContract(start: StartSubject): void {
  for (const isLifted of [false, true]) {
    const when = isLifted ? 'was lifted before' : 'is lifted after'
    test(`a client that disconnects before its response is noticed at once when the time limit ${when}`, async (t) => {
      const leaving = new AbortController()
      const ended = Promise.withResolvers<boolean>()
      const handler = (exchange: HttpExchange) => {
        exchange.onClosed(ended.resolve)
        if (isLifted) exchange.liftAnswerLimit()
        leaving.abort()
        if (!isLifted) setImmediate(() => exchange.liftAnswerLimit())
      }
      const subject = await start(t, handler, { requestTimeoutMs: 3_600_000 })
      const sent = subject.send({ url: '/', signal: leaving.signal })
      assert.equal(await ended.promise, true)
      assert.equal((await sent).aborted, true)
    })
  }
}

function requestContract(start: StartSubject, facts: ContractFacts): void {
  test('shows the request as it was sent and normalised', async (t) => {
    const seen = Promise.withResolvers<Record<string, unknown>>()
    const subject = await start(t, (exchange) => {
      const { method, target, rawPath, query, path, scheme, host, httpVersion, remoteAddress } = exchange.request
      seen.resolve({ method, target, rawPath, query, path, scheme, host, httpVersion, remoteAddress })
      exchange.respond(plain)
    })
    await subject.send({ method: 'DELETE', url: '/a//b/../%63%2f?x=1&y=%20', headers: { Host: 'Example.TEST:80' } })
    assert.deepEqual(await seen.promise, {
      method: 'DELETE',
      target: '/a//b/../%63%2f?x=1&y=%20',
      rawPath: '/a//b/../%63%2f',
      query: 'x=1&y=%20',
      path: '/a/c%2F',
      scheme: facts.scheme,
      host: 'example.test:80',
      httpVersion: facts.httpVersion,
      remoteAddress: '127.0.0.1',
    })
  })

  test('finds fields by lower-case name and keeps their order', async (t) => {
    const seen = Promise.withResolvers<unknown>()
    const subject = await start(t, (exchange) => {
      const { request } = exchange
      const names = request.headers.map(([name]) => name).filter((name) => name.startsWith('x-'))
      seen.resolve([request.header('x-one'), request.header('x-none'), names])
      exchange.respond(plain)
    })
    await subject.send({ url: '/', headers: { 'X-Two': '2', 'X-One': 'eins' } })
    assert.deepEqual(await seen.promise, ['eins', undefined, ['x-two', 'x-one']])
  })

  test('the request stays readable after the handler returned and after the end', async (t) => {
    const seen = Promise.withResolvers<unknown>()
    const subject = await start(t, (exchange) => {
      setImmediate(() => {
        const { remoteAddress } = exchange.request
        exchange.respond(plain, Buffer.from('later'))
        setImmediate(() => {
          const { request } = exchange
          seen.resolve([request.header('x-a'), request.path, remoteAddress, request.remoteAddress])
        })
      })
    })
    await subject.send({ url: '/later', headers: { 'X-A': 'b' } })
    assert.deepEqual(await seen.promise, ['b', '/later', '127.0.0.1', '127.0.0.1'])
  })
}

function bodyContract(start: StartSubject): void {
  test('a request without body has none, and reading it ends at once', async (t) => {
    const subject = await start(t, (exchange) => {
      const { isPresent, length } = exchange.body
      exchange.body.read(
        () => assert.fail('no chunk'),
        (error) =>
          exchange.respond(plain, Buffer.from(JSON.stringify({ isPresent, length: length ?? null, error: error ?? null }))),
      )
    })
    const response = await subject.send({ url: '/' })
    assert.deepEqual(JSON.parse(response.body.toString()), { isPresent: false, length: null, error: null })
  })

  test('reads a body of known length', async (t) => {
    const subject = await start(t, (exchange) => {
      const { length } = exchange.body
      void readAll(exchange.body).then((body) => exchange.respond(plain, Buffer.from(`${length}:${body}`)))
    })
    assert.equal((await subject.send({ method: 'PUT', url: '/', body: 'hello' })).body.toString(), '5:hello')
  })

  test('reads a body of unknown length', async (t) => {
    const subject = await start(t, (exchange) => {
      const { length } = exchange.body
      void readAll(exchange.body).then((body) => exchange.respond(plain, Buffer.from(`${length}:${body}`)))
    })
    const response = await subject.send({ method: 'POST', url: '/', body: [Buffer.from('one,'), Buffer.from('two')] })
    assert.equal(response.body.toString(), 'undefined:one,two')
  })

  test('keeps the body for a reader who comes late', async (t) => {
    const subject = await start(t, (exchange) => {
      setImmediate(() => setImmediate(() => void readAll(exchange.body).then((body) => exchange.respond(plain, body))))
    })
    const body = 'late'.repeat(50_000)
    assert.equal((await subject.send({ method: 'POST', url: '/', body })).body.toString(), body)
  })

  test('gives everything to a reader who acknowledges late', async (t) => {
    const subject = await start(t, (exchange) => {
      let bytes = 0
      exchange.body.read(
        (chunk, ack) => {
          bytes += chunk.byteLength
          setImmediate(ack)
        },
        () => exchange.respond(plain, Buffer.from(String(bytes))),
      )
    })
    const chunks = Array.from({ length: 40 }, () => Buffer.alloc(50_000, 'x'))
    assert.equal((await subject.send({ method: 'POST', url: '/', body: chunks })).body.toString(), '2000000')
  })

  test('an unread body does not delay the response', async (t) => {
    const subject = await start(t, (exchange) => setImmediate(() => exchange.respond(plain, Buffer.from('unread'))))
    const response = await subject.send({ method: 'POST', url: '/', body: 'x'.repeat(500_000) })
    assert.equal(response.body.toString(), 'unread')
  })
}

function responseContract(start: StartSubject): void {
  for (const bytes of [10, 10_000, MAX_LENT_BYTES]) {
    test(`a body of ${bytes} bytes is lent for the call alone`, async (t) => {
      const subject = await start(t, (exchange) => {
        const lent = Buffer.alloc(bytes, 'a')
        exchange.respond(plain, lent)
        lent.fill('x')
      })
      const { body } = await subject.send({ url: '/' })
      assert.equal(body.equals(Buffer.alloc(bytes, 'a')), true)
    })
  }

  for (const [how, later] of [
    ['in the handler', (act: () => void) => act()],
    ['later', (act: () => void) => void setImmediate(act)],
  ] as const) {
    test(`answers ${how} and reports that the exchange has closed`, async (t) => {
      const closed = Promise.withResolvers<boolean>()
      const subject = await start(t, (exchange) => {
        exchange.onClosed(closed.resolve)
        later(() => exchange.respond({ status: 404, headers: [['X-A', 'b']] }, Buffer.from('not here')))
      })
      const response = await subject.send({ url: '/' })
      assert.deepEqual([response.status, response.headers['x-a'], response.body.toString()], [404, 'b', 'not here'])
      assert.equal(response.headers['content-length'], '8')
      assert.equal(await closed.promise, false)
    })

    test(`HEAD answered ${how} has the length of the body but not the body`, async (t) => {
      const subject = await start(t, (exchange) => later(() => exchange.respond(plain, Buffer.from('hello'))))
      const response = await subject.send({ method: 'HEAD', url: '/' })
      assert.deepEqual([response.status, response.headers['content-length'], response.body.length], [200, '5', 0])
    })

    for (const status of [204, 304]) {
      test(`${status} answered ${how} has neither body nor length`, async (t) => {
        const subject = await start(t, (exchange) => later(() => exchange.respond({ status, headers: [] }, Buffer.from('x'))))
        const response = await subject.send({ url: '/' })
        assert.deepEqual([response.status, response.headers['content-length'], response.body.length], [status, undefined, 0])
      })
    }
  }

  test('an empty answer has length 0', async (t) => {
    const subject = await start(t, (exchange) => exchange.respond({ status: 200, headers: [] }))
    const response = await subject.send({ url: '/' })
    assert.deepEqual([response.status, response.headers['content-length'], response.body.length], [200, '0', 0])
  })

  test('large answers arrive whole', async (t) => {
    const body = Buffer.alloc(3_000_000, 'abcdefg')
    const subject = await start(t, (exchange) => exchange.respond(plain, body))
    const response = await subject.send({ url: '/', isSlow: true })
    assert.equal(response.body.equals(body), true)
  })

  test('values beyond latin-1 leave as their UTF-8 bytes, and repeated fields stay apart', async (t) => {
    const headers = [
      ['Set-Cookie', 'a=1'],
      ['Set-Cookie', 'b=2'],
      ['X-Text', 'ĊX'],
    ] as const
    const subject = await start(t, (exchange) => exchange.respond({ status: 200, headers }))
    const response = await subject.send({ url: '/' })
    assert.equal(Buffer.from(String(response.headers['x-text']), 'latin1').toString(), 'ĊX')
    assert.match(String(response.headers['set-cookie']), /a=1.*b=2|a=1/)
  })

  test('bytes of values leave as they are, also in a head without a body and in one that is sent ahead of it', async (t) => {
    const headers = [['X-Text', '\xc3\xa9']] as const
    const text = async (path: string) => {
      const subject = await start(t, (exchange) => {
        if (path !== '/streamed') {
          exchange.respond({ status: path === '/bodiless' ? 204 : 200, headers })
          return
        }
        const writer = exchange.stream({ status: 200, headers })
        setImmediate(() => writer.end(Buffer.from('late')))
      })
      return (await subject.send({ url: path })).headers['x-text']
    }
    for (const path of ['/', '/bodiless', '/streamed']) assert.equal(await text(path), '\xc3\xa9', path)
  })

  test('a listener that is added after the end is called at once', async (t) => {
    const closed = Promise.withResolvers<boolean>()
    const subject = await start(t, (exchange) => {
      exchange.respond(plain)
      exchange.onClosed(closed.resolve)
    })
    await subject.send({ url: '/' })
    assert.equal(await closed.promise, false)
  })
}
