import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Contender, compare } from '../lib/compare.ts'
import type { ServerProcess } from '../lib/server-process.ts'
import type { Row } from '../lib/table.ts'
import { hasNginx, startNginxCache } from '../peers/nginx.ts'
import { etagOf, type Sample, startSameBytes } from '../peers/same-bytes.ts'
import { startSvc, workDir, writeConfig } from '../peers/svc.ts'
import { hasVarnish, startVarnish } from '../peers/varnish.ts'

const CONNECTIONS = 32
const HOST = 'l0.localhost'
const SIZES = { '1 KB': 1024, '10 KB': 10_240, '32 KB': 32_768 } as const

/** Fields of a browser's navigation request, except Host. */
export const BROWSER_FIELDS = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'Accept-Language: en-US,en;q=0.5',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Upgrade-Insecure-Requests: 1',
  'Sec-Fetch-Dest: document',
  'Sec-Fetch-Mode: navigate',
  'Sec-Fetch-Site: none',
] as const

/** Files that are small enough for L0. Written once: a second write would give them other tags than those in the caches of the peers. */
function writeSite(): string {
  const root = join(workDir, 'l0-site')
  mkdirSync(join(root, 'public'), { recursive: true })
  for (const bytes of Object.values(SIZES)) {
    const file = join(root, `public/${bytes}.html`)
    if (!existsSync(file)) writeFileSync(file, 'x'.repeat(bytes))
  }
  return root
}

interface Hit {
  readonly scenario: string
  readonly path: string
  /** Further fields of each request. */
  readonly fields?: readonly string[]
  /** True if the client has it already. */
  readonly isConditional?: boolean
}

/** Compares responses from L0 with the same bytes from bare uWebSockets.js, and with caches in front of it. */
async function compareHit({ scenario, path, fields = [], isConditional = false }: Hit, seconds: number): Promise<Row[]> {
  const sites = [{ id: 'l0', root: writeSite() }]
  const startOwn = (name: string, hasAccessLog = false) => startSvc(writeConfig(name, sites, '', hasAccessLog))
  const model = await startOwn('l0-model')
  const started: ServerProcess[] = [model]
  try {
    const whole: Sample = { url: model.url + path, host: HOST, headers: fields }
    const headers = isConditional ? [...fields, `If-None-Match: ${await etagOf(whole)}`] : fields
    const sample: Sample = { ...whole, headers }
    const origin = await startSameBytes('origin', whole)
    started.push(origin)
    const contenders: Contender[] = [
      { name: 'svc', host: HOST, start: () => startOwn('l0') },
      { name: 'raw uWebSockets.js, same bytes', host: HOST, start: () => startSameBytes('raw', sample) },
      { name: 'svc with access log', host: HOST, start: () => startOwn('l0-log', true) },
    ]
    if (hasNginx) contenders.push({ name: 'nginx proxy_cache', host: HOST, start: () => startNginxCache(origin.url) })
    if (hasVarnish) contenders.push({ name: 'Varnish', host: HOST, start: () => startVarnish(origin.url) })
    const status = isConditional ? 304 : 200
    return await compare({ scenario, path, headers, status, contenders, seconds, connections: CONNECTIONS })
  } finally {
    await Promise.all(started.map((server) => server.stop()))
  }
}

/** A hit of L0 with a body of one of the sizes. */
export function l0Hit(size: keyof typeof SIZES, seconds: number): Promise<Row[]> {
  return compareHit({ scenario: `L0 hit, ${size}`, path: `/${SIZES[size]}.html` }, seconds)
}

/** The smallest of them for a browser, which sends more fields. */
export function l0Browser(seconds: number): Promise<Row[]> {
  const path = `/${SIZES['1 KB']}.html`
  return compareHit({ scenario: 'L0 hit, 1 KB, request of a browser', path, fields: BROWSER_FIELDS }, seconds)
}

/** A hit of L0 for a client that has it already. */
export function l0NotModified(seconds: number): Promise<Row[]> {
  return compareHit({ scenario: 'L0 hit, 304', path: `/${SIZES['10 KB']}.html`, isConditional: true }, seconds)
}

/** A hit of L0 with the rate limit and without it, where all clients have one address, and where they have several. */
export function l0Limited(seconds: number): Promise<Row[]> {
  const path = `/${SIZES['1 KB']}.html`
  const sites = [{ id: 'l0', root: writeSite() }]
  const start = (name: string, limit = '') => startSvc(writeConfig(name, sites, limit))
  const limit = '[rate_limit]\nenabled = true\nrequests_per_minute = 1000000000\n'
  const contenders: Contender[] = [
    { name: 'svc with rate limit', host: HOST, start: () => start('l0-limited', limit) },
    { name: 'svc', host: HOST, start: () => start('l0') },
    {
      name: 'svc with rate limit, several addresses',
      host: HOST,
      start: async () => {
        const server = await start('l0-limited-addresses', limit)
        const { hostname, port } = new URL(server.url)
        // Ends with the server.
        const other = connect({ host: hostname, port: Number(port), localAddress: '127.0.0.2' }).on('error', () => undefined)
        const hold = setInterval(() => other.write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`), 1_000)
        other.resume().once('close', () => clearInterval(hold))
        return server
      },
    },
  ]
  return compare({
    scenario: 'L0 hit, 1 KB, rate limit',
    path,
    headers: [],
    status: 200,
    contenders,
    seconds,
    connections: CONNECTIONS,
  })
}
