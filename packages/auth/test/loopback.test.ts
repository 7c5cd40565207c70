import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopback } from '../src/index.ts'

type LoopbackRequest = Parameters<typeof isLoopback>[0]

interface Case extends Partial<LoopbackRequest> {
  readonly trustsTcp?: boolean
  readonly proxies?: readonly string[]
  readonly isPanelHost?: boolean
}

function decide({ trustsTcp = true, proxies = [], isPanelHost = false, ...facts }: Case): boolean {
  const all: LoopbackRequest = {
    isControlSocket: false,
    peerAddress: '127.0.0.1',
    isProxied: false,
    host: 'localhost:8080',
    headers: [],
    ...facts,
  }
  return isLoopback(all, {
    trustsTcp,
    isTrustedProxy: (address) => proxies.includes(address),
    isSiteHost: (hostname) => hostname === 'shop.test' || hostname.endsWith('.wild.test'),
    isPanelHost,
  })
}

const header = (name: string, value: string): Case => ({
  headers: [
    ['accept', '*/*'],
    [name, value],
  ],
})

const refused: readonly [why: string, facts: Case][] = [
  ['another host', { peerAddress: '192.0.2.1' }],
  ['a private neighbour', { peerAddress: '10.0.0.1' }],
  ['an address that only looks local', { peerAddress: '128.0.0.1' }],
  ['another IPv6 host', { peerAddress: '::2' }],
  ['a unix socket that the configuration listens on', { peerAddress: '' }],
  ['loopback over TCP is not trusted', { trustsTcp: false }],
  ['a trusted proxy on this host', { proxies: ['127.0.0.1'] }],
  ['no Host', { host: '' }],
  ['a garbled Host', { host: 'local host' }],
  ['a rebound name', { host: 'evil.test' }],
  ['a rebound name that begins like a loopback name', { host: 'localhost.evil.test' }],
  ['a rebound name that begins like a loopback address', { host: '127.0.0.1.evil.test' }],
  ['an address of the network', { host: '192.0.2.1:8080' }],
  ['the unspecified address', { host: '0.0.0.0:8080' }],
  ['the unspecified IPv6 address', { host: '[::]:8080' }],
  ['Forwarded', header('forwarded', 'for=192.0.2.1')],
  ['Via', header('via', '1.1 proxy')],
  ['X-Forwarded-For', header('x-forwarded-for', '127.0.0.1')],
  ['X-Forwarded-Host', header('x-forwarded-host', 'localhost')],
  ['any X-Forwarded field', header('x-forwarded-whatever', '')],
  ['X-Real-IP', header('x-real-ip', '127.0.0.1')],
  ['CF-Connecting-IP', header('cf-connecting-ip', '127.0.0.1')],
  ['CDN-Loop', header('cdn-loop', 'svc;one')],
  ['a foreign origin', header('origin', 'http://evil.test')],
  ['an opaque origin', header('origin', 'null')],
  ['an origin of another scheme', header('origin', 'file://localhost:8080')],
  ['the same host on another port', header('origin', 'http://localhost:3000')],
  [
    'the own origin and a foreign one',
    {
      headers: [
        ['origin', 'http://localhost:8080'],
        ['origin', 'http://evil.test'],
      ],
    },
  ],
  ['a garbled origin', header('origin', 'localhost:8080')],
  ['a cross-site browser request', header('sec-fetch-site', 'cross-site')],
  ['the same in capitals', header('sec-fetch-site', 'Cross-Site')],
  ['a browser request of another port', { isPanelHost: true, ...header('sec-fetch-site', 'same-site') }],
  ['a foreign origin on a host of the panel', { isPanelHost: true, ...header('origin', 'http://evil.test') }],
  ['a page of a site that changes something', { host: 'shop.test', ...header('origin', 'http://shop.test') }],
  ['a page of a site that reads something', { host: 'shop.test', ...header('sec-fetch-site', 'same-origin') }],
  ['a page of a site whose name a tenant lets resolve to this host', { host: 'shop.test', ...header('accept-language', '*') }],
  ['a page of the first site under a loopback name', header('origin', 'http://localhost:8080')],
  ['a reading page of the first site under a loopback name', header('sec-fetch-site', 'same-origin')],
  ['a site host with a forwarding field', { host: 'shop.test', ...header('via', '1.0 x') }],
  ['a connection with a header of the PROXY protocol', { isProxied: true }],
  ['the control socket with a foreign Host', { isControlSocket: true, peerAddress: '', host: 'evil.test' }],
  ['the control socket with a forwarding field', { isControlSocket: true, peerAddress: '', ...header('via', '1.0 x') }],
]

const accepted: readonly [why: string, facts: Case][] = [
  ['localhost', {}],
  ['localhost without a port', { host: 'localhost' }],
  ['capitals and a final dot', { host: 'LOCALHOST.:8080' }],
  ['a loopback literal', { host: '127.0.0.1:8080' }],
  ['any loopback literal', { host: '127.8.9.10' }],
  ['the IPv6 literal', { host: '[::1]:8080' }],
  ['the IPv6 literal written out', { host: '[0:0:0:0:0:0:0:1]:8080' }],
  ['a site of the configuration', { host: 'shop.test:8080' }],
  ['a site with a wildcard name', { host: 'a.wild.test' }],
  ['another peer of 127.0.0.0/8', { peerAddress: '127.255.0.9' }],
  ['the IPv6 peer', { peerAddress: '::1' }],
  ['an IPv4-mapped peer', { peerAddress: '::ffff:127.0.0.1' }],
  ['a page of the panel', { isPanelHost: true, ...header('origin', 'http://localhost:8080') }],
  ['a page of the panel over TLS', { isPanelHost: true, ...header('origin', 'https://localhost:8080') }],
  [
    'a page of the panel on the port of its scheme',
    { isPanelHost: true, host: 'localhost', ...header('origin', 'http://localhost') },
  ],
  [
    'a Host that names the port of its scheme',
    { isPanelHost: true, host: 'localhost:80', ...header('origin', 'http://localhost') },
  ],
  ['a reading page of the panel', { isPanelHost: true, ...header('sec-fetch-site', 'same-origin') }],
  ['a request typed into a browser', header('sec-fetch-site', 'none')],
  ['a program that names its language on a loopback name', header('accept-language', 'en')],
  [
    'a program of Node that asks for a site by name',
    {
      host: 'shop.test',
      headers: [
        ['accept-language', '*'],
        ['sec-fetch-mode', 'cors'],
      ],
    },
  ],
  [
    'the name of a site typed into a browser',
    {
      host: 'shop.test',
      headers: [
        ['sec-fetch-site', 'none'],
        ['accept-language', 'en'],
      ],
    },
  ],
  ['a proxy that is trusted elsewhere', { proxies: ['192.0.2.1'] }],
  ['the control socket', { isControlSocket: true, peerAddress: '' }],
  ['the control socket, whatever TCP is trusted with', { isControlSocket: true, peerAddress: '', trustsTcp: false }],
]

for (const [why, facts] of refused) test(`not loopback: ${why}`, () => assert.equal(decide(facts), false))
for (const [why, facts] of accepted) test(`loopback: ${why}`, () => assert.equal(decide(facts), true))
