import assert from 'node:assert/strict'
import { join } from 'node:path'
import {
  Child,
  type Cleanup,
  type Load,
  type LoadReport,
  type Server,
  startLoad,
  startServer,
  svcCommand,
  tempDir,
  writeCertificate,
  writeFiles,
} from '@svc/testkit'
import type { WebSocket } from 'ws'
import { Events, openSocket, say, startUpstream, type Upstream } from '../long-connections.ts'

const CERTIFICATES = 200
/** Names of each certificate. */
const HOSTS = 5
/** Certificates of the hosts that are under load. */
const LOADS = [0, 7, 131]
const HELD_HOST = 'held.test'

const hostOf = (certificate: number, at: number) => `h${at}.c${certificate}.test`

function hostsOf(certificate: number): string[] {
  return Array.from({ length: HOSTS }, (_, at) => hostOf(certificate, at))
}

/**
 * A server with a thousand vhosts, five for each of two hundred certificates, under load over TLS; and one more that never
 * changes, with a WebSocket and a stream of events from the beginning to the end.
 */
export class TlsVhosts {
  readonly #dir: string
  readonly #cleanup: Cleanup
  readonly #server: Server
  readonly #upstream: Upstream
  readonly #socket: WebSocket
  readonly #events: Events
  #loads: readonly Load[] = []
  #requests = 0

  private constructor(dir: string, cleanup: Cleanup, server: Server, upstream: Upstream, socket: WebSocket, events: Events) {
    this.#dir = dir
    this.#cleanup = cleanup
    this.#server = server
    this.#upstream = upstream
    this.#socket = socket
    this.#events = events
  }

  static async start(cleanup: Cleanup): Promise<TlsVhosts> {
    const dir = tempDir(cleanup, 'tls-soak')
    const upstream = await startUpstream(cleanup)
    for (let certificate = 0; certificate < CERTIFICATES; certificate++) TlsVhosts.#issue(dir, certificate, 0)
    TlsVhosts.#write(dir, 0)
    const { cert, key } = writeCertificate(dir, 'held', { commonName: 'held', hosts: [HELD_HOST] })
    writeFiles(dir, {
      'held.conf': `server { listen 127.0.0.1:0 ssl; server_name ${HELD_HOST}; ssl_certificate ${cert}; ssl_certificate_key ${key};
  location / { proxy_pass http://${upstream.address}; proxy_read_timeout 1h;
    proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; } }`,
    })
    const server = await startServer(cleanup, {
      config: `[server]\nworkers = 2\nvhosts = ["${join(dir, '*.conf')}"]\n[logging]\naccess = false\n`,
    })
    const socket = await openSocket(cleanup, `${server.url}/ws`, HELD_HOST)
    const events = await Events.open(cleanup, `${server.url}/events`, HELD_HOST)
    const vhosts = new TlsVhosts(dir, cleanup, server, upstream, socket, events)
    vhosts.load()
    return vhosts
  }

  static #issue(dir: string, certificate: number, round: number): void {
    writeCertificate(dir, `c${certificate}`, { commonName: `c${certificate} of round ${round}`, hosts: hostsOf(certificate) })
  }

  static #write(dir: string, round: number): void {
    const blocks: string[] = []
    for (let certificate = 0; certificate < CERTIFICATES; certificate++) {
      for (const host of hostsOf(certificate)) {
        const files = `ssl_certificate ${dir}/c${certificate}.crt; ssl_certificate_key ${dir}/c${certificate}.key;`
        blocks.push(`server { listen 127.0.0.1:0 ssl; server_name ${host}; ${files}
  location / { return 200 "$host"; }
  location /round { return 200 "${round}"; } }`)
      }
    }
    writeFiles(dir, { 'all.conf': blocks.join('\n') })
  }

  /** The master's. */
  get pid(): number {
    return this.#server.ready.pid
  }

  /** Changes one certificate, mostly one that is under load. */
  renew(round: number): void {
    TlsVhosts.#issue(this.#dir, LOADS[round % LOADS.length] ?? 0, round)
  }

  /** Changes all of the thousand vhosts. */
  rewrite(round: number): void {
    TlsVhosts.#write(this.#dir, round)
  }

  /** Reloads; says what it changed and how long it took, in milliseconds. */
  async reload(): Promise<{ readonly said: string; readonly tookMs: number }> {
    const startedAt = performance.now()
    const command = new Child(this.#cleanup, svcCommand, ['reload', '--config', this.#server.configFile ?? ''])
    const { code } = await command.exited
    assert.equal(code, 0, command.stderr)
    return { said: command.stdout.trim(), tookMs: performance.now() - startedAt }
  }

  /** Resolves when so many more requests have been answered. */
  async more(requests: number): Promise<void> {
    const done = () => this.#loads.reduce((sum, load) => sum + load.done(), 0)
    const wanted = done() + requests
    while (done() < wanted) await new Promise((resolve) => setTimeout(resolve, 50))
  }

  /** Resolves when a message and an event have gone over the connections of the beginning. */
  async useHeld(round: number): Promise<void> {
    assert.equal(this.#socket.readyState, this.#socket.OPEN, 'the WebSocket is there')
    assert.equal(await say(this.#socket, `round ${round}`), `/ws round ${round}`)
    this.#upstream.say(`data: round ${round}\n\n`)
    await this.#events.has(`data: round ${round}\n\n`)
  }

  /** Begins the load. */
  load(): void {
    this.#loads = LOADS.map((certificate) => {
      const host = hostOf(certificate, 1)
      return startLoad(this.#cleanup, {
        pauseMs: 0,
        url: `${this.#server.url}/`,
        host,
        keepAlive: 3,
        fresh: 1,
        check: ({ status, text }) => (status === 200 && text === host ? undefined : `${status} ${text}`),
      })
    })
  }

  /** Ends the load. Resolves with how many requests there were from the beginning on; rejects when one has failed. */
  async rest(): Promise<number> {
    const reports: LoadReport[] = await Promise.all(this.#loads.map((load) => load.stop()))
    const failures = reports.flatMap((report) => report.failures)
    assert.deepEqual(failures.slice(0, 5), [], `${failures.length} requests failed`)
    this.#requests += reports.reduce((sum, { ok }) => sum + ok, 0)
    return this.#requests
  }
}
