import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Child, type Cleanup, requireProgram, startServer, tempDir, writeFiles } from '@svc/testkit'
import { EchoUpstream } from './echo-upstream.ts'
import { ask, type Peer, type RawAnswer } from './raw-answer.ts'

type Engine = 'uws' | 'node'

/** One request that all servers get. */
export interface Case {
  /** Request target, latin-1. */
  readonly target: string
  /** @default "GET" */
  readonly method?: string
  /** Host field; null: none. @default "a.test" */
  readonly host?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** @default "1.1" */
  readonly version?: '1.0' | '1.1'
  /** For what only one engine can take. @default both */
  readonly engine?: Engine
  /** Which of the listen addresses of the test. @default 0 */
  readonly on?: number
  /** Address that the request comes from. */
  readonly from?: string
  /** Values found in the answer to the request: sent in place of `{etag}` and the like. */
  readonly after?: { readonly target: string; readonly field: string; readonly as: string }
  /** Known differences, with their reasons. */
  readonly differs?: Readonly<Record<string, string>>
  /** Expected response of nginx, for cases that would prove little without it. */
  readonly status?: number
}

/** The product with one of its engines. */
interface Product {
  readonly engine: Engine
  readonly peers: readonly Peer[]
}

/** Files and configuration that all servers get. */
export interface Setting {
  /**
   * Text of the vhost file: `{on0}` is the first listen address, `{dir}` the directory of the files, `{echo}` the address of an
   * upstream that answers with what it saw, `{port}` its port, `{echo2}` the address of a second one, `{socket}` the path of a
   * third one, `{own}` a directory of each server for itself.
   */
  readonly conf: string
  readonly files?: Readonly<Record<string, string>>
  /** Number of listen addresses. @default 1 */
  readonly addresses?: number
  /** Done once the files are there. */
  readonly prepare?: (dir: string) => void
  /** Further lines of the configuration of the product, in its section [server]. */
  readonly server?: string
}

/** Every kind of temporary file of nginx, kept inside the test's directory. */
const TEMP_PATHS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`).join(' ')
/** Modules that do not come with nginx, where they are installed. */
const MODULES = ['static', 'filter'].map((name) => `/usr/lib/nginx/modules/ngx_http_brotli_${name}_module.so`)
/** Before the text of a test. */
const TYPES = 'include /etc/nginx/mime.types; default_type text/plain;'
/** Fields of answers that are compared as they are. */
const COMPARED = [
  'www-authenticate',
  'cache-control',
  'last-modified',
  'accept-ranges',
  'content-range',
  'retry-after',
  'link',
  'set-cookie',
  'refresh',
  'content-disposition',
  'content-encoding',
  'vary',
]
/** Answers are made one after the other: what counts from now on may be some seconds apart on a slow machine. */
const SLACK_SECONDS = 20

/** nginx, and the product with each engine, with the same vhost file. */
export class Differential {
  readonly dir: string
  readonly #nginx: readonly Peer[]
  readonly #products: readonly Product[]

  private constructor(dir: string, nginx: readonly Peer[], products: readonly Product[]) {
    this.dir = dir
    this.#nginx = nginx
    this.#products = products
  }

  /** Starts them; undefined: there is no nginx here, and the test has been skipped. */
  static async start(t: TestContext, setting: Setting): Promise<Differential | undefined> {
    const executable = requireProgram(t, 'nginx')
    return executable === undefined ? undefined : Differential.run(t, executable, setting)
  }

  /** Starts them. */
  static async run(t: Cleanup, executable: string, setting: Setting): Promise<Differential> {
    const dir = tempDir(t, 'differential')
    writeFiles(join(dir, 'www'), setting.files ?? {})
    setting.prepare?.(join(dir, 'www'))
    const { port } = await EchoUpstream.start(t)
    const { port: second } = await EchoUpstream.start(t, undefined, 'second')
    await EchoUpstream.start(t, join(dir, 'echo.sock'))
    const text = (peers: readonly Peer[], name: string) =>
      setting.conf
        .replace(/\{on(\d)\}/g, (_match, index) => `${peers[Number(index)]?.host}:${peers[Number(index)]?.port}`)
        .replaceAll('{dir}', join(dir, 'www'))
        .replaceAll('{own}', join(dir, name))
        .replaceAll('{echo}', `127.0.0.1:${port}`)
        .replaceAll('{echo2}', `127.0.0.1:${second}`)
        .replaceAll('{port}', String(port))
        .replaceAll('{socket}', join(dir, 'echo.sock'))
    const count = setting.addresses ?? 1
    const places = await freePlaces(count)
    const peersOf = (hosts: number) => places.map((place) => ({ host: place.hosts[hosts] ?? '', port: place.port }))
    const nginx = peersOf(0)
    const products: Product[] = [
      { engine: 'uws', peers: peersOf(1) },
      { engine: 'node', peers: peersOf(2) },
    ]
    // Directives of the product alone say nothing about how requests are answered here.
    const theirs = text(nginx, 'nginx').replace(/svc_\w+ [^;]*;/g, '')
    await Promise.all([
      startNginx(t, executable, dir, theirs),
      ...products.map(({ engine, peers }) =>
        startProduct(t, join(dir, engine), text(peers, engine), `engine = "${engine}"\n${setting.server ?? ''}`),
      ),
    ])
    return new Differential(join(dir, 'www'), nginx, products)
  }

  /** Listen addresses: of nginx, and of the product with each engine. */
  placesOf(on: number): readonly (readonly [name: string, peer: Peer])[] {
    const all = [{ engine: 'nginx', peers: this.#nginx }, ...this.#products]
    return all.flatMap(({ engine, peers }) => (peers[on] === undefined ? [] : [[engine, peers[on]] as const]))
  }

  /** Sends requests to all, one after the other, and compares what they answer. */
  async compare(t: TestContext, cases: readonly Case[]): Promise<void> {
    for (const item of cases) {
      await t.test(titleOf(item), () => this.compareOne(item))
    }
  }

  /** Sends a request to all. Rejects when an answer differs from nginx's. */
  async compareOne(item: Case): Promise<void> {
    const theirs = await this.#ask(this.#nginx, item)
    for (const { engine, peers } of this.#products) {
      if (item.engine === undefined || item.engine === engine) compareAnswers(item, theirs, await this.#ask(peers, item), engine)
    }
  }

  async #ask(peers: readonly Peer[], item: Case): Promise<RawAnswer> {
    const peer = peers[item.on ?? 0]
    assert.ok(peer)
    const from = { ...peer, from: item.from }
    let found: Readonly<Record<string, string>> = {}
    if (item.after !== undefined) {
      const first = await ask(from, requestOf({ target: item.after.target }, {}))
      found = { [item.after.as]: first.headers.find(([name]) => name === item.after?.field)?.[1] ?? '' }
    }
    const answer = await ask(from, requestOf(item, found))
    // Each has an address of its own, which is in the answer where the client named no host.
    const headers = answer.headers.map(([name, value]) => [name, value.replace(`//${peer.host}:`, '//{own}:')] as const)
    return { ...answer, headers }
  }
}

/** Compares what is the same with all servers, but for what the case says. */
function compareAnswers(item: Case, theirs: RawAnswer, ours: RawAnswer, engine: Engine): void {
  const isHead = item.method === 'HEAD'
  const left = viewOf(theirs, theirs, isHead)
  const right = viewOf(ours, theirs, isHead)
  if (areNear(maxAgeOf(ours), maxAgeOf(theirs))) right['cache-control'] = left['cache-control']
  for (const name of Object.keys(item.differs ?? {})) {
    assert.notDeepEqual(right[name], left[name], `${name} does not differ any more`)
    delete left[name]
    delete right[name]
  }
  assert.deepEqual(right, left, `nginx: ${JSON.stringify(theirs)}\n${engine}: ${JSON.stringify(ours)}`)
  if (item.status !== undefined) assert.equal(theirs.status, item.status, JSON.stringify(theirs))
  assertNear(expiresIn(ours), expiresIn(theirs))
}

/** A line about a request. */
export function titleOf({ method = 'GET', target, host = 'a.test', headers = {}, on = 0, from, version }: Case): string {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${target}`, host ?? 'no Host', ...fields, on === 0 ? '' : `on ${on}`, from ?? '', version ?? '']
    .filter((part) => part !== '')
    .join(' | ')
}

function requestOf(item: Case, found: Readonly<Record<string, string>>): string {
  const { method = 'GET', target, host = 'a.test', headers = {}, body, version = '1.1' } = item
  const lines = [`${method} ${target} HTTP/${version}`]
  if (host !== null) lines.push(`Host: ${host}`)
  for (const [name, value] of Object.entries(headers)) {
    lines.push(`${name}: ${value.replace(/\{(\w+)\}/g, (whole, key) => found[key] ?? whole)}`)
  }
  if (body !== undefined && headers['Transfer-Encoding'] === undefined) lines.push(`Content-Length: ${body.length}`)
  return `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n${body ?? ''}`
}

/** Parts of a response that are compared. `theirs` says what is content: nginx's own pages are not ours to copy. */
function viewOf(answer: RawAnswer, theirs: RawAnswer, isHead: boolean): Record<string, unknown> {
  const values = (wanted: string) => answer.headers.filter(([name]) => name === wanted).map(([, value]) => value)
  // It has no page for statuses that it does not know.
  const isPage = theirs.body.includes('<hr><center>nginx') || (theirs.body === '' && theirs.status >= (isHead ? 300 : 400))
  const view: Record<string, unknown> = { status: answer.status, location: values('location') }
  for (const name of COMPARED) view[name] = values(name)
  // Ours is too short to be compressed.
  if (isPage) for (const name of ['vary', 'content-encoding']) delete view[name]
  // nginx says it with whole files alone.
  if (answer.status === 206) delete view['accept-ranges']
  view['added'] = answer.headers
    .filter(([name]) => name.startsWith('x-') && name !== 'x-request-id')
    .map((pair) => pair.join(': '))
  view['hasEtag'] = values('etag').length > 0
  if (isPage) for (const name of ['hasEtag', 'last-modified']) delete view[name]
  view['type'] = values('content-type')
  view['cacheStatus'] = values('cache-status')
  if (!isPage) view['body'] = answer.body
  else if (isOfEngine(answer)) delete view['type']
  else view['page'] = isHead || theirs.body === '' ? answer.body : answer.body.includes(`<title>${answer.status} `)
  return view
}

/** The engines refuse what is no request before a server could say more. */
function isOfEngine({ status, body }: RawAnswer): boolean {
  return status === 400 && (body === '' || body.includes('Bad Request'))
}

function expiresIn({ headers }: RawAnswer): number | undefined {
  const time = (wanted: string) => Date.parse(headers.find(([name]) => name === wanted)?.[1] ?? '') / 1000
  const seconds = time('expires') - time('date')
  return Number.isNaN(seconds) ? undefined : seconds
}

/** Seconds of a Cache-Control field that says nothing else. */
function maxAgeOf({ headers }: RawAnswer): number | undefined {
  const match = /^max-age=(\d+)$/.exec(headers.find(([name]) => name === 'cache-control')?.[1] ?? '')
  return match === null ? undefined : Number(match[1])
}

function areNear(ours: number | undefined, theirs: number | undefined): boolean {
  return ours !== undefined && theirs !== undefined && Math.abs(ours - theirs) <= SLACK_SECONDS
}

function assertNear(ours: number | undefined, theirs: number | undefined): void {
  assert.ok(ours === theirs || areNear(ours, theirs), `Expires: ${ours} seconds from now, ${theirs} with nginx`)
}

/** An address for each server, with a port that all of them can have: the URL of a redirect holds it. */
interface FreePlace {
  readonly hosts: readonly string[]
  readonly port: number
}

/** Finds unused loopback addresses. */
export async function freePlaces(count: number): Promise<FreePlace[]> {
  const places: FreePlace[] = []
  const second = 16 + Math.floor(Math.random() * 200)
  const third = 1 + Math.floor(Math.random() * 250)
  for (let index = 0; index < count; index++) {
    const hosts = [0, 1, 2].map((server) => `127.${second}.${third}.${10 + index * 3 + server}`)
    places.push({ hosts, port: await freePort(hosts[0] ?? '') })
  }
  return places
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Files of an nginx with a vhost file, below a directory of its own. */
export function nginxConfiguration(vhosts: string): Readonly<Record<string, string>> {
  // Else root's nginx would run its worker as a user that may not read the files of the test.
  const user = process.getuid?.() === 0 ? 'user root; ' : ''
  const modules = MODULES.filter((path) => existsSync(path)).map((path) => `load_module ${path}; `)
  return {
    'nginx/vhosts.conf': vhosts,
    'nginx/nginx.conf': `${user}${modules.join('')}daemon off; worker_processes 1; pid nginx.pid; error_log stderr notice;
events { worker_connections 256; }
http { access_log off; ${TEMP_PATHS} ${TYPES} variables_hash_max_size 2048;
  server_names_hash_bucket_size 128; include vhosts.conf; }
`,
  }
}

async function startNginx(t: Cleanup, executable: string, dir: string, vhosts: string): Promise<void> {
  writeFiles(dir, nginxConfiguration(vhosts))
  const prefix = join(dir, 'nginx')
  const child = new Child(t, executable, ['-p', prefix, '-e', 'stderr', '-c', join(prefix, 'nginx.conf')], {
    endSignal: 'SIGTERM',
  })
  await child.waitForLine('start of nginx', (line) => line.includes('start worker') || line.includes('OS: Linux'))
}

async function startProduct(t: Cleanup, dir: string, vhosts: string, server: string): Promise<void> {
  writeFiles(dir, { 'vhosts.conf': TYPES + vhosts })
  const config = `[server]\nvhosts = ["${join(dir, 'vhosts.conf')}"]\nworkers = 1\n${server}`
  await startServer(t, { config })
}
