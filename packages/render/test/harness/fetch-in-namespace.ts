import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '@svc/core'
import { SiteFetch, siteFetchLimits } from '../../src/thread/egress/site-fetch.ts'

/**
 * Runs in a network namespace of its own, whose loopback interface gets addresses that look public. Prints the answer to a
 * fetch of each of them, by what is fetched.
 */
const ip = (...words: string[]) => execFileSync('ip', words)
const results: Record<string, string> = {}

ip('link', 'set', 'lo', 'up')
ip('addr', 'add', '9.9.9.9/32', 'dev', 'lo')
ip('-6', 'addr', 'add', '2606:4700:aaaa::7/128', 'dev', 'lo', 'nodad')
let requests = 0
const service = createServer((_request, response) => {
  requests++
  response.end('secret')
}).listen(0, '::')
await once(service, 'listening')
const { port } = service.address() as AddressInfo

function fetcher(allow: string[]) {
  const rules = { allow, allowLocal: false, own: [] }
  const site = new SiteFetch({
    rules,
    loopMark: { instanceId: 'one', token: 'x' },
    limits: { ...siteFetchLimits, connectTimeoutMs: 1_000 },
  })
  return async (label: string, host: string) => {
    const request = { method: 'GET', headers: [], redirect: 'follow', body: undefined, cdnLoop: '' } as const
    let text = ''
    const sink = {
      head: () => undefined,
      piece: async (bytes: Uint8Array) => {
        text += Buffer.from(bytes).toString()
      },
    }
    await site.run({ ...request, url: `http://${host}:${port}/` }, sink, new AbortController().signal).catch((error: unknown) => {
      text = messageOf(error)
    })
    results[label] = text
  }
}

const get = fetcher([])
await get('IPv4', '9.9.9.9')
await get('IPv6', '[2606:4700:aaaa::7]')
await get('mapped', '[::ffff:9.9.9.9]')
await get('name of two addresses', 'mixed.example')
await get('added later', '9.9.9.10')
ip('addr', 'add', '9.9.9.10/32', 'dev', 'lo')
await get('added', '9.9.9.10')
// The kernel delivers a range of this kind to the machine, and no interface shows an address of it.
ip('route', 'add', 'local', '9.9.8.0/24', 'dev', 'lo')
await get('routed range', '9.9.8.7')
ip('-6', 'route', 'add', 'local', '2606:4700:bbbb::/64', 'dev', 'lo')
ip('-6', 'route', 'add', 'local', '2606:4700:eeee::/64', 'dev', 'lo', 'table', '77')
ip('-6', 'rule', 'add', 'to', '2606:4700:eeee::/64', 'lookup', '77')
await get('routed IPv6 range', '[2606:4700:bbbb::5]')
await get('IPv6 beside the range', '[2606:4700:bbbb:1::5]')
await get('IPv6 range of another table', '[2606:4700:eeee::5]')
results['requests before'] = String(requests)
for (const [label, entry] of [
  ['by address', '9.9.9.9'],
  ['by port', `9.9.9.9:${port}`],
  ['by CIDR', '9.9.0.0/16'],
]) {
  await fetcher([entry ?? ''])(label ?? '', '9.9.9.9')
}
console.log(JSON.stringify(results))
process.exit()
