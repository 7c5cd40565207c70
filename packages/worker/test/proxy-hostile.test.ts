import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { HostileCase } from '../../engine/test/hostile/case.ts'
import { framingCases } from '../../engine/test/hostile/framing.ts'
import { headerCases } from '../../engine/test/hostile/header-fields.ts'
import { pipeliningCases } from '../../engine/test/hostile/pipelining.ts'
import { requestLineCases } from '../../engine/test/hostile/request-line.ts'
import { smugglingCases, unpreventableCases } from '../../engine/test/hostile/smuggling.ts'
import type { EngineName } from '../../engine/test/start-engine.ts'
import { startProxy } from './proxy-server.ts'
import { startRecording } from './recording-upstream.ts'

const engineNames: readonly EngineName[] = ['uws', 'node']
const cases: readonly HostileCase[] = [
  ...requestLineCases,
  ...headerCases,
  ...framingCases,
  ...smugglingCases,
  ...unpreventableCases,
  ...pipeliningCases,
]
/**
 * The hidden request stands behind one whose end is beyond doubt, good or refused: engine node goes on with it, as it should.
 * Engine uws closes the connection.
 */
const WELL_FRAMED: ReadonlySet<string> = new Set([
  'behind a bad Host',
  'behind a bad target',
  'behind two Hosts',
  'behind a missing Host',
  'behind absolute form',
  'behind a bad Host, in one segment',
  'behind a bad target, in one segment',
  'behind two Hosts, in one segment',
  'behind a missing Host, in one segment',
  'behind absolute form, in one segment',
  'behind a good chunked request',
  'behind a chunked request answered at once',
  'behind a chunked request answered later',
  'behind a chunked request that fails',
  'behind a chunked request with 204',
  'behind a chunked request with a stream',
  'behind a chunked request with a sized stream',
  'behind trailers',
  'behind a chunk extension on the last chunk',
  'behind a chunk extension',
  'a failing one between others',
  'a second one while the first is pending',
  'a second one behind an asynchronous one, in one segment',
])
/** Answers that honest clients get before a hostile one is left alone: what it sent has been dealt with by then. */
const HONEST_ROUNDS = 3

function write(socket: Socket, bytes: string | Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () => setImmediate(resolve))
  return promise
}

/** Asks for a path of its own over a connection that is kept, and gets what the upstream said to it. */
function honest(port: number, agent: Agent, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const asked = request({ host: '127.0.0.1', port, path, agent, headers: { host: 'a.test' } }, (response) => {
    let text = ''
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    response.on('end', () => resolve(text))
  })
  asked.on('error', reject)
  asked.end()
  return promise
}

for (const engine of engineNames) {
  test(`${engine}: ${cases.length} hostile clients in front of an upstream that other clients share`, async (t) => {
    const up = await startRecording(t)
    const { port } = await startProxy(t, `location / { proxy_pass http://${up.address}; }`, { engine })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    for (const [index, hostile] of cases.entries()) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.on('error', () => undefined)
      socket.resume()
      for (const segment of hostile.send) {
        if (socket.destroyed) break
        await write(socket, typeof segment === 'string' ? segment.replaceAll('{mark}', `/marker/${index}/`) : segment)
      }
      for (let round = 0; round < HONEST_ROUNDS; round++) {
        const path = `/honest/${index}/${round}`
        assert.equal(await honest(port, agent, path), `<${path}>`, hostile.name)
      }
      socket.destroy()
      assert.deepEqual(up.violations, [], hostile.name)
    }
    const smuggled = cases.flatMap((hostile, index) => {
      const ran = up.lines.filter((line) => line.includes(` /marker/${index}/`)).length
      const isGood = engine === 'node' && WELL_FRAMED.has(hostile.name)
      return ran > Math.max(isGood ? 1 : 0, ...(hostile.marks ?? [])) ? [`${hostile.name}: ${ran}`] : []
    })
    assert.deepEqual(smuggled, [])
    assert.equal(up.lines.filter((line) => line.includes(' /honest/')).length, cases.length * HONEST_ROUNDS)
  })
}
