import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { PurgeOrder, PurgeState } from '@svc/cache'
import type { Config, SiteConfig } from '@svc/config'
import { createIpcChannel, createSocketChannel, type Received, RpcPeer } from '@svc/core'
import {
  type GenerationSpec,
  hostMethods,
  hostParentMethods,
  PROTOCOL_VERSION,
  type PurgeOutcome,
  type RenderReply,
  type RenderRequest,
  renderClientMethods,
  renderMethods,
} from '@svc/protocol'
import type { SiteManifest } from '@svc/site'
import { PROCESS_WAIT_MS, tempDir, waitFor } from '@svc/testkit'

/** The program that was built, beside the guest that it needs: hosts and their threads start twice as fast as from their sources. */
const builtProgram = fileURLToPath(new URL('../../../dist/render-host.js', import.meta.url))
const execArgv = ['--disable-warning=ExperimentalWarning', '--no-node-snapshot', '--max-semi-space-size=8']
const TOKEN = 'token-of-the-test'
/** Of calls that are to succeed: a loaded machine must not reach it. */
const TIMEOUT_MS = 60_000

/** Keys of `[render]` that a test sets, and what it wants of its sites. */
export interface HostOptions {
  /** Path of the host's program. @default the one that was built */
  readonly program?: string
  readonly render?: Partial<Config['render']>
  /** Directory of the caches that several hosts share. @default one of its own */
  readonly cacheDir?: string
  /** How long stale entries are served, in milliseconds. */
  readonly swrMs?: number
  /** Handles a purge by code of a site in the master's place. @default rejects it */
  readonly purges?: PurgeState
  readonly onPurge?: (order: PurgeOrder) => Promise<PurgeOutcome>
  readonly sites: readonly (Partial<SiteConfig> & { readonly id: string; readonly root: string })[]
}

const renderDefaults = {
  workers: 1,
  hosts: 1,
  concurrency: 16,
  queue_max: 512,
  timeout_ms: 30_000,
  memory_limit_mb: 64,
  idle_secs: 300,
  max_threads: 8,
  max_isolates: 200,
  host_memory_limit_mb: 2048,
}

/** A generation as the master would send it: no more of it is read by a render host. */
export function generationOf(
  generation: number,
  cacheDir: string,
  { render, sites, swrMs = 3_600_000 }: HostOptions,
): GenerationSpec {
  const config = {
    render: { ...renderDefaults, ...render },
    cache: { dir: cacheDir, isr: { max_entries: 1_000, max_bytes: 16 << 20, default_swr_ms: swrMs } },
    scaling: { instance_id: 'test' },
    logging: { level: 'info', format: 'json' },
  }
  const plain = { env: {}, fetch_allow: [], fetch_allow_local: false, mode: 'production' }
  return {
    generation,
    config: config as unknown as Config,
    sites: sites.map(
      (site) => ({ ...plain, label: site.id, public: join(site.root, 'public'), ...site }) as unknown as SiteConfig,
    ),
    loopToken: 'loop-token',
    moduleDir: join(cacheDir, 'modules'),
    listen: [],
    web: {
      servers: [],
      upstreams: [],
      maps: [],
      computed: [],
      limitZones: [],
      typeTables: [],
      recordsUpstreams: false,
      recordsBodies: false,
    },
    tls: {},
  }
}

const refusePurge = () => Promise.reject(new Error('this master carries out no purges'))

type MasterPeer = RpcPeer<typeof hostParentMethods, typeof hostMethods>
type WorkerPeer = RpcPeer<typeof renderClientMethods, typeof renderMethods>

/** Result of a render. */
export interface Rendered extends Received<RenderReply> {
  readonly status: number
  readonly text: string
}

/** A render host process with a master and a worker in the test. */
export class HostProcess {
  readonly child: ChildProcess
  readonly master: MasterPeer
  readonly socket: string
  readonly cacheDir: string
  readonly exited: Promise<unknown[]>
  readonly losses: string[] = []
  log = ''
  worker!: WorkerPeer
  /** Below `worker`. */
  socketOfWorker!: Socket
  readonly manifests = new Map<string, SiteManifest>()

  private constructor(t: Pick<TestContext, 'after'>, { program = builtProgram, cacheDir, onPurge = refusePurge }: HostOptions) {
    const dir = tempDir(t, 'svc-host')
    this.cacheDir = cacheDir ?? join(dir, 'cache')
    this.socket = join(dir, 'host.sock')
    this.child = fork(program, [], { execArgv, serialization: 'advanced', stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    this.exited = once(this.child, 'exit')
    const collect = (data: string) => {
      this.log += data
      if (process.env['VERBOSE'] === '1') process.stderr.write(data)
    }
    this.child.stdout?.setEncoding('utf8').on('data', collect)
    this.child.stderr?.setEncoding('utf8').on('data', collect)
    t.after(async () => {
      this.child.kill('SIGKILL')
      await this.exited
    })
    this.master = new RpcPeer({
      channel: createIpcChannel(this.child),
      local: hostParentMethods,
      handlers: {
        isolateLost: ({ site, reason }) => {
          this.losses.push(`${site} ${reason}`)
          return undefined
        },
        purge: async ({ order }) => await onPurge(order),
        sharedScript: () => {
          throw new Error('no cache is shared')
        },
        log: () => undefined,
      },
      remote: hostMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'render host',
      onProblem: (error) => {
        this.log += String(error.stack)
      },
    })
  }

  /** Starts a host that serves generation 1 with these sites, and connects a worker. */
  static async start(t: Pick<TestContext, 'after'>, options: HostOptions): Promise<HostProcess> {
    const host = new HostProcess(t, options)
    await host.master.call('start', { id: 'h1', socket: host.socket, token: TOKEN }, { timeoutMs: TIMEOUT_MS })
    await host.serve(1, options)
    host.worker = await host.connect()
    return host
  }

  async serve(generation: number, options: HostOptions): Promise<void> {
    const spec = generationOf(generation, this.cacheDir, options)
    const { purges } = options
    await this.master.call('prepare', { spec, ...(purges === undefined ? {} : { purges }) }, { timeoutMs: TIMEOUT_MS })
    await this.master.call('commit', { generation }, { timeoutMs: TIMEOUT_MS })
  }

  /** Connects another worker. */
  async connect(token = TOKEN): Promise<WorkerPeer> {
    const socket = connect(this.socket)
    this.socketOfWorker = socket
    await once(socket, 'connect')
    const peer: WorkerPeer = new RpcPeer({
      channel: createSocketChannel(socket),
      local: renderClientMethods,
      handlers: {},
      remote: renderMethods,
      protocolVersion: PROTOCOL_VERSION,
      peerName: 'render host',
      onProblem: (error) => {
        this.log += String(error.stack)
      },
    })
    if (token !== '') await peer.call('hello', { token, worker: 1 }, { timeoutMs: TIMEOUT_MS })
    return peer
  }

  /** The current manifest of a site. */
  async describe(site: string): Promise<SiteManifest> {
    const { manifest } = await this.worker.call('describe', { site }, { timeoutMs: TIMEOUT_MS })
    this.manifests.set(site, manifest as SiteManifest)
    return manifest as SiteManifest
  }

  async request(site: string, path: string, more: Partial<RenderRequest> = {}): Promise<RenderRequest> {
    const manifest = this.manifests.get(site) ?? (await this.describe(site))
    const pathname = path.replace(/\?.*$/, '')
    const route = manifest.routes.find((one) => one.pattern === pathname)
    return {
      site,
      manifestVersion: manifest.version,
      kind: route?.kind ?? 'not-found',
      route: route?.id ?? '',
      params: {},
      requestId: 'request-1',
      method: 'GET',
      url: `http://${site}.example${path}`,
      headers: [['host', `${site}.example`]],
      remoteAddress: '127.0.0.1',
      mayStream: false,
      ...more,
    }
  }

  /** Renders a path and waits for the whole answer. */
  async render(site: string, path: string, more: Partial<RenderRequest> = {}, bytes?: Uint8Array): Promise<Rendered> {
    const request = await this.request(site, path, more)
    const options = bytes === undefined ? {} : { bytes }
    const reply = await this.worker.open('render', request, { timeoutMs: TIMEOUT_MS, ...options }).reply
    return { ...reply, status: reply.body.head?.status ?? 0, text: Buffer.from(reply.bytes ?? []).toString() }
  }

  /**
   * Starts a POST that the site gets and cannot answer before its body has come. Resolves when it is in the isolate's thread.
   * @returns sends the body and waits for the answer
   */
  async hold(site: string, path: string, more: Partial<RenderRequest> = {}): Promise<(body: string) => Promise<string>> {
    const request = await this.request(site, path, { method: 'POST', ...more })
    const call = this.worker.open('render', request, { timeoutMs: TIMEOUT_MS, hasChunks: true })
    call.reply.catch(() => undefined)
    await waitFor(
      'the render to begin',
      async () => (await this.ping()).pools.some((pool) => pool.site === site && pool.active > 0),
      PROCESS_WAIT_MS,
    )
    return async (body) => {
      call.write(Buffer.from(body))
      call.end()
      return Buffer.from((await call.reply).bytes ?? []).toString()
    }
  }

  /** Waits for a text in the log, which comes by a way of its own: later or earlier than answers do. */
  async logged(pattern: RegExp): Promise<void> {
    await waitFor(`${pattern} in the log`, () => pattern.test(this.log), PROCESS_WAIT_MS)
  }

  /** Losses that the host has told of since the last time, by the way on which its answer to a ping comes after them. */
  async lossesSoFar(): Promise<string[]> {
    await this.ping()
    return this.losses.splice(0)
  }

  async changed(site: string, files: string[] = []): Promise<void> {
    await this.master.call('siteChanged', { site, files }, { timeoutMs: TIMEOUT_MS })
    await this.describe(site)
  }

  /** How many isolates were replaced. */
  async flush(site: string): Promise<number> {
    return (await this.master.call('flush', { site }, { timeoutMs: TIMEOUT_MS })).isolates
  }

  /** The isolates of a site, or of all. */
  async isolates(...sites: string[]) {
    return (await this.master.call('isolates', sites.length === 0 ? {} : { sites }, { timeoutMs: TIMEOUT_MS })).isolates
  }

  ping() {
    return this.master.call('ping', undefined, { timeoutMs: TIMEOUT_MS })
  }
}
