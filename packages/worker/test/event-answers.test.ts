import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ManualClock, PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { adminToml, bearer, tokenOf, type Username } from '../../auth/test/admin-users.ts'
import { type EngineName, engines, startEngine } from '../../engine/test/start-engine.ts'
import { PipelineServer, shop } from './pipeline-server.ts'

const STREAM = '/__svc/obs/logs/stream'

/** A client that reads as it is told. */
class Reader {
  text = ''
  isEnded = false
  readonly socket: Socket

  constructor(t: TestContext, port: number, authorization: string, method = 'GET') {
    this.socket = connect(port, '127.0.0.1')
    t.after(() => this.socket.destroy())
    this.socket.setEncoding('latin1').on('data', (text: string) => {
      this.text += text
    })
    this.socket
      .on('error', () => undefined)
      .on('close', () => {
        this.isEnded = true
      })
    this.socket.write(`${method} ${STREAM}?level=warn HTTP/1.1\r\nhost: shop.test\r\nauthorization: ${authorization}\r\n\r\n`)
  }

  has(text: string): Promise<unknown> {
    return waitFor(`${text} in ${this.text.slice(-500)}`, () => this.text.includes(text), PROCESS_WAIT_MS)
  }

  /** The last chunk of the body has come, or the connection is gone. */
  ended(): Promise<unknown> {
    return waitFor(
      `an end after ${this.text.slice(-500)}`,
      () => this.isEnded || this.text.endsWith('\r\n0\r\n\r\n'),
      PROCESS_WAIT_MS,
    )
  }
}

for (const name of Object.keys(engines) as EngineName[]) {
  async function start(t: TestContext) {
    const clock = new ManualClock()
    const server = await PipelineServer.start(t, [shop], adminToml, { eventClock: clock })
    server.plane.sites.generation = () => server.generation.number
    const engine = await startEngine(t, name, server.handler)
    const open = async (username: Username = 'vera') => {
      const before = server.plane.followers.length
      const reader = new Reader(t, engine.port, (await bearer(username)).authorization)
      await waitFor('a follower', () => server.plane.followers.length === before + 1, PROCESS_WAIT_MS)
      return reader
    }
    return { server, clock, open, port: engine.port }
  }

  test(`lines are sent as events with heartbeats between them, until the source ends (${name})`, async (t) => {
    const { server, clock, open } = await start(t)
    const reader = await open()
    assert.deepEqual(server.plane.calls, [{ follow: { level: 40, text: '' } }])
    const [follower] = server.plane.followers
    follower?.next('{"msg":"one"}')
    follower?.next('no json\n\nevent: forged')
    follower?.dropped(7)
    await reader.has('data: {"msg":"one"}\n\n')
    await reader.has('data: {"msg":"no json\\n\\nevent: forged"}\n\n')
    await reader.has('event: dropped\ndata: {"count":7}\n\n')
    assert.match(reader.text, /^HTTP\/1.1 200 .*content-type: text\/event-stream\r\n/is)
    const length = reader.text.length
    clock.advance(15_000)
    await waitFor('a heartbeat', () => reader.text.length > length, PROCESS_WAIT_MS)
    assert.match(reader.text.slice(length), /:\n\n/)
    assert.equal(server.plane.followers.length, 1)
    follower?.ended()
    await reader.ended()
    await waitFor('no follower', () => server.plane.followers.length === 0, PROCESS_WAIT_MS)
    follower?.next('{}')
    assert.equal(clock.timers, 0)
  })

  test(`a revoked token ends its stream at once, and no other (${name})`, async (t) => {
    const { server, open } = await start(t)
    const [ended, other] = [await open('vera'), await open('root')]
    server.revocations.add(
      { tokens: [{ jti: 'id of vera', username: 'vera', expiresAt: Date.now() + 60_000 }], users: [], issuedBefore: 0 },
      Date.now(),
    )
    await ended.ended()
    server.plane.followers[0]?.next('{"still":"here"}')
    await other.has('still')
    assert.equal(server.plane.followers.length, 1)
  })

  test(`a reload ends streams at their next heartbeat: it may have changed the rights of the user (${name})`, async (t) => {
    const { server, clock, open } = await start(t)
    const reader = await open()
    server.plane.sites.generation = () => 2
    clock.advance(15_000)
    await reader.ended()
  })

  test(`a client that takes nothing is dropped, and others go on (${name})`, async (t) => {
    const { server, clock, open } = await start(t)
    const slow = await open()
    const good = await open('root')
    slow.socket.pause()
    const line = JSON.stringify({ msg: 'x'.repeat(8_000) })
    // Far more than the buffers of the connection hold.
    for (let i = 0; i < 4_000; i++) server.plane.followers[0]?.next(line)
    for (let i = 0; i < 3; i++) clock.advance(15_000)
    await waitFor('its end', () => server.plane.followers.length === 1, PROCESS_WAIT_MS)
    server.plane.followers[0]?.next('{"still":"here"}')
    await good.has('still')
    slow.socket.resume()
    await waitFor('a cut', () => slow.isEnded, PROCESS_WAIT_MS)
    assert.ok(slow.text.length < 16_000_000 && !slow.text.endsWith('0\r\n\r\n'), 'cut, and not all was sent')
  })

  test(`a user has a bound of streams, and leaves room for others (${name})`, async (t) => {
    const { open, port } = await start(t)
    for (let i = 0; i < 8; i++) await open('vera')
    const refused = new Reader(t, port, (await bearer('vera')).authorization)
    await refused.has('too_many_streams')
    await open('root')
  })

  test(`a worker has a bound of streams, and one that leaves makes room (${name})`, async (t) => {
    const { server, open, port } = await start(t)
    const readers: Reader[] = []
    for (const username of ['vera', 'tom', 'ida', 'root'] as const) {
      for (let i = 0; i < 8; i++) readers.push(await open(username))
    }
    const refused = new Reader(t, port, (await bearer('root')).authorization)
    await refused.has('too_many_streams')
    assert.match(refused.text, /^HTTP\/1.1 503 .*retry-after: 10\r\n/is)
    const head = new Reader(t, port, (await bearer('root')).authorization, 'HEAD')
    await head.has('\r\n\r\n')
    assert.match(head.text, /^HTTP\/1.1 200 /)
    readers[0]?.socket.destroy()
    await waitFor('room', () => server.plane.followers.length === 31, PROCESS_WAIT_MS)
    await open()
    const denied = new Reader(t, port, `Bearer ${await tokenOf('gone')}`)
    await denied.has('unauthorized')
  })
}
