import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { ReadyRequest } from '../src/exchange/ready-responses.ts'
import { startUws } from './start-uws.ts'

test('the address for counters is that of the peer, whoever else is connected', async (t) => {
  const seen: string[] = []
  const ready = {
    find(ask: ReadyRequest) {
      seen.push(`${ask.countedAddress()} ${ask.remoteAddress()}`)
      return undefined
    },
    sent: () => undefined,
    sentLater: () => () => undefined,
  }
  const server = await startUws(t, (exchange) => exchange.respond({ status: 204, headers: [] }), { ready })
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: server.port, localAddress })
    await once(socket, 'connect')
    return socket
  }
  const request = async (socket: Socket) => {
    socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await once(socket, 'data')
  }
  const close = async (socket: Socket) => {
    socket.end()
    await once(socket.resume(), 'close')
  }
  const one = await open('127.0.0.1')
  await request(one)
  const two = await open('127.0.0.2')
  for (const socket of [one, two, one]) await request(socket)
  await close(one)
  await request(two)
  await close(two)
  const three = await open('127.0.0.3')
  for (let i = 0; i < 600; i++) await request(three)
  await close(three)
  const both = (address: string) => `${address} ${address}`
  const [a, b, c] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map(both)
  assert.deepEqual(seen.slice(0, 5), [a, a, b, a, b])
  assert.deepEqual(new Set(seen.slice(5)), new Set([c]))
})
