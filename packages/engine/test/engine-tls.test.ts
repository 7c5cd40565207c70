import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import type { CertificateSpec, HttpExchange, ListenerTls } from '@svc/http'
import { talk, tempDir, waitFor } from '@svc/testkit'
import { type EngineName, engines, startEngine } from './start-engine.ts'
import { makeCertificate } from './test-certificates.ts'

const ok = { status: 200, headers: [] } as const

/** Says how the request came in. */
const tell = (exchange: HttpExchange) => {
  const { scheme, serverName, host } = exchange.request
  exchange.respond(ok, Buffer.from(`${scheme} ${serverName ?? '-'} ${host}`))
}

function tlsOf(certificates: readonly CertificateSpec[], names: ListenerTls['names']): ListenerTls {
  return { certificates, names, fallback: certificates[0]?.id ?? '', minVersion: '1.2' }
}

/** Opens a connection; `servername` "" sends none. */
async function open(t: TestContext, port: number, servername: string): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false })
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

async function subjectFor(t: TestContext, port: number, servername: string): Promise<string> {
  const socket = await open(t, port, servername)
  const name = socket.getPeerCertificate().subject.CN
  socket.destroy()
  return String(name)
}

/** One request on a connection of its own, or on those of an agent. */
function ask(port: number, servername: string, host = servername, agent?: Agent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', servername, headers: { host }, rejectUnauthorized: false }
    const sent = request({ ...options, agent: agent ?? false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

/** Sends bytes without TLS, and gives what comes until the connection ends. */
async function sendPlain(t: TestContext, port: number, bytes: string): Promise<string> {
  const socket = connectPlain(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => undefined)
  return await talk(socket, bytes)
}

for (const name of Object.keys(engines) as EngineName[]) {
  describe(`TLS on engine ${name}`, () => {
    test('ChaCha20 is chosen for clients that put it first', async (t) => {
      const tls = tlsOf([makeCertificate(t, 'any', ['a.test'])], [])
      const { port } = await startEngine(t, name, tell, { tls })
      const chosenOf = async (ciphers: string) => {
        const socket = connect({ port, host: '127.0.0.1', ciphers, rejectUnauthorized: false })
        t.after(() => socket.destroy())
        await once(socket, 'secureConnect')
        return socket.getCipher().name
      }
      const [chaCha, aes] = ['TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_256_GCM_SHA384']
      assert.equal(await chosenOf(`${chaCha}:${aes}`), chaCha)
      assert.equal(await chosenOf(`${aes}:${chaCha}`), aes)
    })

    test('a request without TLS is not served; engine node says why', async (t) => {
      const tls = tlsOf([makeCertificate(t, 'any', ['a.test'])], [])
      const { port, refusals } = await startEngine(t, name, tell, { tls })
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const text = await sendPlain(t, port, `${method} / HTTP/1.1\r\nHost: a.test\r\n\r\n`)
        if (name === 'uws') assert.doesNotMatch(text, /HTTP/)
        else {
          assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n.*\r\n\r\nThe plain HTTP request was sent to HTTPS port\n$/s)
          assert.equal(refusals.at(-1)?.code, 'plain_http')
        }
      }
      assert.doesNotMatch(await sendPlain(t, port, '\x16\x03\x01\x00\x05hello'), /HTTP/)
      assert.equal((await ask(port, 'a.test')).status, 200)
    })

    test('a certificate that is none, and a key of another one, are refused and change nothing', async (t) => {
      const [first, second] = [makeCertificate(t, 'first', ['a.test']), makeCertificate(t, 'second', ['a.test'])]
      const before = tlsOf([first], [['a.test', 'first']])
      const { engine, port } = await startEngine(t, name, tell, { tls: before })
      const garbage = `${tempDir(t, 'bad')}/bad.pem`
      writeFileSync(garbage, 'nothing')
      const bad = [
        { id: 'mixed', certFile: first.certFile, keyFile: second.keyFile, title: 'a.pem (a.conf:1:2)' },
        { id: 'garbage', certFile: garbage, keyFile: first.keyFile, title: 'b.pem' },
        { id: 'missing', certFile: `${garbage}.none`, keyFile: first.keyFile, title: 'c.pem' },
      ]
      for (const certificate of bad) {
        assert.throws(() => engine.prepareTls('test', tlsOf([second, certificate], [['a.test', 'second']])), {
          code: 'ENGINE_BAD_CERTIFICATE',
          // As the operator knows it, not as it was copied.
          message: new RegExp(`^test: certificate ${certificate.title.replace(/[().]/g, '\\$&')}: `),
        })
      }
      assert.throws(() => engine.prepareTls('test', { ...before, fallback: 'none' }), { code: 'ENGINE_BAD_CERTIFICATE' })
      assert.equal(await subjectFor(t, port, 'a.test'), 'first')
      assert.equal(engine.tlsRebuilds, 0)
    })

    test('an address that speaks TLS needs a certificate', async (t) => {
      const { engine } = await startEngine(t, name, tell)
      await assert.rejects(engine.listen({ name: 'bare', host: '127.0.0.1', port: 0, isTls: true }), {
        code: 'ENGINE_BAD_CERTIFICATE',
      })
    })

    test('the exact name comes before the longest suffix, in any case, and what is unknown gets the first one', async (t) => {
      const certificates = ['other', 'exact', 'near', 'far'].map((id) => makeCertificate(t, id, [`${id}.test`]))
      const names = [
        ['www.a.test', 'exact'],
        ['*.a.test', 'far'],
        ['*.b.a.test', 'near'],
      ] as const
      const { port } = await startEngine(t, name, tell, { tls: tlsOf(certificates, names) })
      const expected = {
        'www.a.test': 'exact',
        'WWW.a.TEST': 'exact',
        'x.a.test': 'far',
        'X.A.test': 'far',
        'x.y.a.test': 'far',
        'x.b.a.test': 'near',
        'a.test': 'other',
        'nobody.test': 'other',
        '': 'other',
      }
      for (const [serverName, id] of Object.entries(expected)) assert.equal(await subjectFor(t, port, serverName), id, serverName)
    })

    test('a pattern is not a name', async (t) => {
      const certificates = [makeCertificate(t, 'other', ['o.test']), makeCertificate(t, 'a', ['a.test'])]
      const { port } = await startEngine(t, name, tell, { tls: tlsOf(certificates, [['*.a.test', 'a']]) })
      for (const pattern of ['*.test', '*.o.test']) assert.equal(await subjectFor(t, port, pattern), 'other')
      assert.equal(await subjectFor(t, port, 'x.test'), 'other')
      assert.equal(await subjectFor(t, port, 'x.a.test'), 'a')
    })

    test('requests know scheme and server name', async (t) => {
      const certificates = [makeCertificate(t, 'other', ['o.test']), makeCertificate(t, 'a', ['a.test'])]
      const { port } = await startEngine(t, name, tell, { tls: tlsOf(certificates, [['a.test', 'a']]) })
      assert.equal((await ask(port, 'A.test', 'a.test')).text, 'https a.test a.test')
      assert.equal((await ask(port, 'new.test')).text, 'https new.test new.test')
      assert.equal((await ask(port, '', 'a.test')).text, 'https - a.test')
    })

    test('a host with another certificate than the connection is misdirected', async (t) => {
      const [first, second] = [makeCertificate(t, 'first', ['a.test', 'b.test']), makeCertificate(t, 'second', ['c.test'])]
      const names = [
        ['a.test', 'first'],
        ['b.test', 'first'],
        ['c.test', 'second'],
      ] as const
      const { port, refusals } = await startEngine(t, name, tell, { tls: tlsOf([first, second], names) })
      assert.equal((await ask(port, 'a.test', 'b.test:443')).status, 200)
      assert.equal((await ask(port, 'a.test', 'c.test')).status, 421)
      assert.equal((await ask(port, 'c.test', 'unknown.test')).status, 421)
      assert.equal((await ask(port, '', 'c.test')).status, 200)
      assert.deepEqual(
        refusals.map(({ status, code }) => `${status} ${code}`),
        ['421 misdirected_request', '421 misdirected_request'],
      )
    })

    test('a change is for new connections; those that are open go on', async (t) => {
      const [old, next] = [makeCertificate(t, 'old', ['a.test']), makeCertificate(t, 'next', ['a.test'])]
      const { engine, port, problems } = await startEngine(t, name, tell, { tls: tlsOf([old], [['a.test', 'old']]) })
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      t.after(() => agent.destroy())
      assert.equal((await ask(port, 'a.test', 'a.test', agent)).status, 200)
      const held = await open(t, port, 'a.test')
      engine.prepareTls('test', tlsOf([next], [['a.test', 'next']]))()
      assert.equal(await subjectFor(t, port, 'a.test'), 'next')
      assert.equal((await ask(port, 'a.test', 'a.test', agent)).text, 'https a.test a.test')
      held.write('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
      const [answer] = (await once(held, 'data')) as [Buffer]
      assert.match(answer.toString(), /^HTTP\/1.1 200 /)
      assert.equal(String(held.getPeerCertificate().subject.CN), 'old')
      assert.equal(engine.tlsRebuilds, 1)
      assert.deepEqual(problems, [])
    })

    test('the same certificates again change nothing, wherever they are named by now', async (t) => {
      const same = makeCertificate(t, 'same', ['a.test'])
      const tls = tlsOf([same], [['a.test', 'same']])
      const { engine, port } = await startEngine(t, name, tell, { tls })
      for (let i = 0; i < 200; i++) engine.prepareTls('test', structuredClone(tls))()
      engine.prepareTls('test', { ...tls, certificates: [{ ...same, title: 'another file' }] })()
      assert.equal(engine.tlsRebuilds, 0)
      assert.equal(await subjectFor(t, port, 'a.test'), 'same')
    })

    test('prepared certificates that are not put in force change nothing', async (t) => {
      const [old, next] = [makeCertificate(t, 'old', ['a.test']), makeCertificate(t, 'next', ['a.test'])]
      const { engine, port } = await startEngine(t, name, tell, { tls: tlsOf([old], [['a.test', 'old']]) })
      engine.prepareTls('test', tlsOf([next], [['a.test', 'next']]))
      assert.equal(await subjectFor(t, port, 'a.test'), 'old')
    })

    test('connections before and after a change are counted, drained and cut', async (t) => {
      const [old, next] = [makeCertificate(t, 'old', ['a.test']), makeCertificate(t, 'next', ['a.test'])]
      const { engine, port } = await startEngine(t, name, tell, { tls: tlsOf([old], [['a.test', 'old']]) })
      const first = await open(t, port, 'a.test')
      engine.prepareTls('test', tlsOf([next], [['a.test', 'next']]))()
      const second = await open(t, port, 'a.test')
      await waitFor('two connections', () => engine.connections === 2)
      const closed = Promise.all([once(first, 'close'), once(second, 'close')])
      first.destroy()
      await waitFor('one connection', () => engine.connections === 1)
      engine.cut()
      await closed
    })
  })
}

describe('server names on engine uws', () => {
  test('memory of replaced certificates is reused, or counted as lost', async (t) => {
    const [any, one, two, three] = ['any', 'one', 'two', 'three'].map((id) => makeCertificate(t, id, ['a.test']))
    assert.ok(any && one && two && three)
    const serving = (certificate: CertificateSpec) => tlsOf([any, certificate], [['a.test', certificate.id]])
    const { engine, port } = await startEngine(t, 'uws', tell, { tls: serving(one) })
    const held = await open(t, port, 'a.test')
    for (const certificate of [two, one]) {
      engine.prepareTls('test', serving(certificate))()
      assert.equal(await subjectFor(t, port, 'a.test'), certificate.id)
    }
    assert.equal(engine.lostBytes, 0)
    held.destroy()
    await waitFor('one of the two earlier certificates to stay in memory', () => engine.lostBytes > 0)
    const before = engine.lostBytes
    engine.prepareTls('test', serving(three))()
    assert.ok(engine.lostBytes > before, 'a name of the one that was kept has got another certificate')
    assert.equal(await subjectFor(t, port, 'a.test'), 'three')
    assert.equal(await subjectFor(t, port, 'b.test'), 'any')
    assert.equal(await subjectFor(t, port, ''), 'any')
  })

  test('a connection that is accepted while certificates change keeps its name', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const certificates = ['one', 'two', 'three'].map((id) => makeCertificate(t, id, ['a.test']))
    const tls = (id: string) => tlsOf(certificates, [['a.test', id]])
    const { engine, port } = await startEngine(
      t,
      'uws',
      (exchange) => {
        if (exchange.request.path === '/change') engine.prepareTls('test', tls('two'))()
        exchange.respond(ok, Buffer.from('hello'))
      },
      { tls: tls('one') },
    )
    const plainPort = await engine.listen({ name: 'plain', host: '127.0.0.1', port: 0 })
    const control = connectPlain(plainPort, '127.0.0.1')
    t.after(() => control.destroy())
    await once(control, 'connect')
    let late = 0
    for (let round = 0; round < 20; round++) {
      // The library has accepted the connection when it reads the request, and gives it to an app of certificates a turn later.
      const opening = open(t, port, 'a.test')
      await new Promise((resolve) => process.nextTick(resolve))
      control.write('GET /change HTTP/1.1\r\nHost: a.test\r\n\r\n')
      await once(control, 'data')
      const socket = await opening
      if (socket.getPeerCertificate().subject.CN === 'one') late++
      t.mock.timers.tick(2_000)
      engine.prepareTls('test', tls('three'))()
      t.mock.timers.tick(2_000)
      engine.prepareTls('test', tls('two'))()
      socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
      await once(socket, 'data')
      engine.prepareTls('test', tls('one'))()
      socket.destroy()
      while (engine.connections > 1) await new Promise((resolve) => setImmediate(resolve))
      t.mock.timers.tick(2_000)
    }
    assert.ok(late > 0, 'a connection came to certificates that were no longer in force')
  })

  test('names that clients make up are bounded, and those of the configuration stay', async (t) => {
    const certificates = [makeCertificate(t, 'other', ['o.test']), makeCertificate(t, 'a', ['a.test'])]
    const names = [
      ['a.test', 'a'],
      ['*.a.test', 'a'],
    ] as const
    const { port } = await startEngine(t, 'uws', tell, { tls: tlsOf(certificates, names) })
    const agents: Promise<unknown>[] = []
    for (let i = 0; i < 1_020; i++) {
      agents.push(ask(port, `made-up-${i}.test`))
      if (agents.length === 20) await Promise.all(agents.splice(0))
    }
    assert.equal((await ask(port, 'made-up-7.test')).text, 'https made-up-7.test made-up-7.test')
    // From here on only what is known in advance has routes of its own.
    assert.equal((await ask(port, 'one-more.test')).text, 'https - one-more.test')
    assert.equal((await ask(port, 'a.test')).text, 'https a.test a.test')
    assert.equal(await subjectFor(t, port, 'a.test'), 'a')
    assert.equal(await subjectFor(t, port, 'x.a.test'), 'a')
    assert.equal((await ask(port, 'x.a.test')).text, 'https - x.a.test')
  })

  test('a file that is missing when its name is first requested is reported', async (t) => {
    const certificates = [makeCertificate(t, 'other', ['o.test']), makeCertificate(t, 'a', ['a.test'])]
    const { port, problems } = await startEngine(t, 'uws', tell, { tls: tlsOf(certificates, [['a.test', 'a']]) })
    rmSync(certificates[1]?.keyFile ?? '')
    assert.equal(await subjectFor(t, port, 'a.test'), 'other')
    assert.match(problems[0]?.message ?? '', /or its key is missing: a\.test gets another certificate/)
  })
})
