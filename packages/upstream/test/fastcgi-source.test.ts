import assert from 'node:assert/strict'
import { join } from 'node:path'
import { systemClock } from '@svc/core'
import { BodyBlocks } from '@svc/http'
import { responseSourceContract, tempDir, waitFor } from '@svc/testkit'
import { UpstreamGroups } from '../src/balance/upstream-groups.ts'
import { fastcgi } from '../src/fastcgi/fastcgi-gateway.ts'
import { GatewayOrigin } from '../src/gateway/gateway-origin.ts'
import { HttpConnections } from '../src/http/http-connections.ts'
import { parseNextUpstream } from '../src/http/origin-settings.ts'
import { record, startWire } from './fastcgi-wire.ts'
import { groupOf, request, server } from './raw-upstream.ts'

const STDOUT = 6
const END = record(3, Buffer.alloc(8))
/** A record holds no more than 65,535 bytes. */
const HALF_BYTES = 32 << 10

function output(bytes: Buffer): Buffer[] {
  const records: Buffer[] = []
  for (let from = 0; from < bytes.byteLength; from += HALF_BYTES)
    records.push(record(STDOUT, bytes.subarray(from, from + HALF_BYTES)))
  return records
}

responseSourceContract('a FastCGI application', {
  // Its client does not hold it up: what comes waits in a file.
  maxAheadBytes: 0,
  async start(t, sink) {
    let requests = 0
    const application = await startWire(t, () => requests++)
    const connections = new HttpConnections(systemClock)
    t.after(() => connections.close())
    const spec = groupOf([server(application.address)])
    const groups = new UpstreamGroups([spec], {
      clock: systemClock,
      onForgotten: (group) => connections.drop([group]),
      onGone: () => undefined,
    })
    const dir = join(tempDir(t), 'bodies')
    const origin = new GatewayOrigin({
      gateway: fastcgi,
      tls: undefined,
      group: groups.named(spec.name),
      connections,
      timeouts: { connectMs: 60_000, sendMs: 60_000, readMs: 60_000 },
      nextUpstream: parseNextUpstream(['error', 'timeout']),
      bodies: { blocks: new BodyBlocks(), dir: () => dir },
    })
    origin.fetch(request({ cgi: { params: [], configured: new Set(), onErrorLine: (line) => assert.fail(line) } }), sink)
    await waitFor('the request', () => requests > 0)
    const [connection = assert.fail()] = application.connections
    return {
      head: (status) => connection.send(...output(Buffer.from(`Status: ${status}\r\n\r\n`))),
      chunk: (bytes) => connection.send(...output(bytes)),
      end: () => connection.send(record(STDOUT, Buffer.alloc(0)), END),
      whole: (status, body) =>
        connection.send(...output(Buffer.from(`Status: ${status}\r\n\r\n${body}`)), record(STDOUT, Buffer.alloc(0)), END),
      breakOff: () => connection.socket.destroy(),
      isAborted: () => connection.isClosed,
    }
  },
})
