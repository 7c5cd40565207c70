import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { HttpExchange } from '@svc/http'
import type { StartSubject } from './engine-contract-types.ts'

const plain = { status: 200, headers: [['Content-Type', 'text/plain']] } as const

/** More than a connection's send buffer can grow to: what is beyond it has to wait for the client. */
export function moreThanTheKernelHolds(): number {
  const [, , most = ''] = readFileSync('/proc/sys/net/ipv4/tcp_wmem', 'utf8').split(/\s+/)
  return Math.max(6_000_000, Number(most) * 1.5)
}

/** Outcome of a stream. */
export interface Poured {
  /** How often its writer was told to wait. */
  waits: number
  /** Chunks whose memory was given back. */
  unused: number
}

/** Writes `count` chunks of `bytes` each and waits whenever it is told to. Memory that is given back is written over at once. */
export function pour(exchange: HttpExchange, count: number, bytes: number, length?: number): Poured {
  const writer = exchange.stream(plain, length === undefined ? {} : { length })
  const state = { waits: 0, unused: 0 }
  let at = 0
  const next = () => {
    while (at < count) {
      const chunk = Buffer.alloc(bytes, String.fromCharCode(97 + (at % 26)))
      at++
      const onUnused = () => {
        state.unused++
        chunk.fill('-')
      }
      if (!writer.write(chunk, onUnused)) {
        state.waits++
        return
      }
    }
    writer.end()
  }
  writer.onDrain(next)
  next()
  return state
}

/** Content that `pour` writes. */
export function expectedPour(count: number, bytes: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, at) => Buffer.alloc(bytes, String.fromCharCode(97 + (at % 26)))))
}

/** Contract of all engines for streamed bodies. */
export function streamContract(start: StartSubject): void {
  for (const isSized of [false, true]) {
    const kind = isSized ? 'of known length' : 'of unknown length'
    for (const bytes of [700, 16_320, 16_400, 90_000]) {
      test(`a stream ${kind} in pieces of ${bytes} arrives whole at a slow client, and its writer is told to wait`, async (t) => {
        const count = Math.ceil(moreThanTheKernelHolds() / bytes)
        let state: Poured | undefined
        const subject = await start(t, (exchange) => {
          state = pour(exchange, count, bytes, isSized ? count * bytes : undefined)
        })
        const response = await subject.send({ url: '/', isSlow: true })
        assert.equal(response.aborted, false)
        assert.equal(response.body.equals(expectedPour(count, bytes)), true)
        assert.ok((state?.waits ?? 0) > 0, 'the writer never had to wait')
        assert.ok((state?.unused ?? 0) <= count, 'memory was given back twice')
        assert.equal(response.headers['content-length'], isSized ? String(count * bytes) : undefined)
      })
    }

    test(`a HEAD stream ${kind} sends no body`, async (t) => {
      const subject = await start(t, (exchange) => {
        const writer = exchange.stream(plain, isSized ? { length: 5 } : {})
        assert.equal(writer.write(Buffer.from('hello')), true)
        writer.end()
      })
      const response = await subject.send({ method: 'HEAD', url: '/' })
      assert.deepEqual([response.status, response.headers['content-length']], [200, isSized ? '5' : undefined])
      assert.equal(response.body.length, 0)
    })

    test(`an empty stream ${kind} ends`, async (t) => {
      const subject = await start(t, (exchange) => exchange.stream(plain, isSized ? { length: 0 } : {}).end())
      const response = await subject.send({ url: '/' })
      assert.deepEqual([response.status, response.body.length, response.aborted], [200, 0, false])
    })
  }
}
