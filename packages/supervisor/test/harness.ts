import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { socketDirectory } from '@svc/config'
import type { SupervisorTimings } from '@svc/processes'
import type { StatusReport } from '@svc/protocol'
import { Child, type Cleanup, PROCESS_WAIT_MS, type ReadyLine, removeAfter, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { bundledMaster } from './bundled-programs.ts'
import { type ControlPeer, controlPeer } from './control-peer.ts'

/** More than a loaded machine uses up. A test that is about a limit sets it. */
const patience: Partial<SupervisorTimings> = {
  pingTimeoutMs: 60_000,
  startTimeoutMs: 120_000,
  prepareTimeoutMs: 120_000,
  commitTimeoutMs: 120_000,
  exitGraceMs: 60_000,
  purgeTimeoutMs: 60_000,
  metricsTimeoutMs: 60_000,
}

/** How a server is configured for a test. */
export interface Setup {
  readonly workers?: number
  readonly listen?: string
  /** Further lines of the config file, before its first table's end. */
  readonly server?: string
  /** True to configure the site `shop`. @default true */
  readonly hasSite?: boolean
  /** Further tables. */
  readonly more?: string
  readonly timings?: Partial<SupervisorTimings>
  readonly env?: Readonly<Record<string, string>>
}

/** A directory with a site and a config file. */
export class Instance {
  readonly dir: string
  readonly file: string
  readonly runDir: string
  readonly #t: Cleanup

  constructor(t: Cleanup, setup: Setup = {}) {
    this.#t = t
    this.dir = tempDir(t, 'sup')
    this.file = join(this.dir, 'svc.config.toml')
    this.runDir = removeAfter(t, socketDirectory(join(this.dir, '.svc'), process.getuid?.() ?? 0))
    writeFiles(this.dir, { 'site/app/page.tsx': 'export default function Page() { return null }\n' })
    this.configure(setup)
  }

  /** Writes the config file. */
  configure(setup: Setup): void {
    const lines = [
      '[server]',
      `listen = "${setup.listen ?? '127.0.0.1:0'}"`,
      `workers = ${setup.workers ?? 1}`,
      setup.server ?? '',
      ...(setup.hasSite === false ? [] : ['[[sites]]', 'id = "shop"', 'hostnames = ["shop.test"]', 'root = "site"']),
      setup.more ?? '',
    ]
    writeFileSync(this.file, `${lines.join('\n')}\n`)
  }

  /** Starts a master without waiting for it. */
  spawn(setup: Setup = {}): Child {
    const args = [bundledMaster(this.#t), this.file, JSON.stringify({ ...patience, ...setup.timings })]
    return new Child(this.#t, process.execPath, args, { env: { ...process.env, ...setup.env }, cwd: this.dir })
  }

  /** Starts a master and waits for its ready line. */
  async start(setup: Setup = {}): Promise<Running> {
    const child = this.spawn(setup)
    const ready = JSON.parse(await child.waitForLine('ready line', (line) => line.startsWith('{"event":"ready"')))
    return new Running(this.#t, this, child, ready)
  }
}

/** Report of the fixture worker about itself. */
export interface WorkerFacts {
  readonly pid: number
  readonly generation: number
  readonly hosts: readonly { readonly id: string; readonly socket: string; readonly sites: string | readonly string[] }[]
  readonly sitesChanged: readonly string[]
  readonly purgeLog: readonly string[]
  readonly purgesKnown: { readonly last: number; readonly unsettled: readonly unknown[] }
  readonly env: readonly string[]
}

/** A master that is up. */
export class Running {
  readonly instance: Instance
  readonly child: Child
  readonly ready: ReadyLine
  readonly url: string
  readonly #t: Cleanup
  #control: Promise<ControlPeer> | undefined

  constructor(t: Cleanup, instance: Instance, child: Child, ready: ReadyLine) {
    this.#t = t
    this.instance = instance
    this.child = child
    this.ready = ready
    this.url = ready.listen[0] ?? ''
  }

  /** The control socket, connected once. */
  control(): Promise<ControlPeer> {
    this.#control ??= connectControl(this.#t, this.instance.runDir)
    return this.#control
  }

  async status(): Promise<StatusReport> {
    return (await this.control()).call('status', undefined, { timeoutMs: 60_000 })
  }

  async reload() {
    return (await this.control()).call('reload', undefined, { timeoutMs: 120_000 })
  }

  fetch(path = '/'): Promise<string> {
    return fetchText(this.url + path)
  }

  async worker(): Promise<WorkerFacts> {
    return JSON.parse(await this.fetch())
  }

  /** Waits until the log has a line with this text. */
  logged(text: string): Promise<string> {
    return this.child.waitForLine(`log line "${text}"`, (line) => line.includes(text))
  }

  /** Waits until the status satisfies `accept`. */
  statusWhen(what: string, accept: (status: StatusReport) => boolean): Promise<StatusReport> {
    return waitFor(
      what,
      async () => {
        const status = await this.status()
        return accept(status) ? status : undefined
      },
      PROCESS_WAIT_MS,
    )
  }
}

/** A port of the loopback interface that is taken until `release`, or until the test ends. */
export async function takePort(t: Cleanup): Promise<{ readonly port: number; release(): Promise<void> }> {
  const server = createServer().listen(0, '127.0.0.1')
  const release = () => new Promise<void>((resolve) => server.close(() => resolve()))
  t.after(release)
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, release }
}

/** One request on a connection of its own. Rejects when the response does not end well. */
export function fetchText(url: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  get(url, { agent: false }, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (data) => {
      text += data
    })
    response.on('end', () => resolve(text))
    response.on('error', reject)
  }).on('error', reject)
  return promise
}

async function connectControl(t: Cleanup, runDir: string): Promise<ControlPeer> {
  const socket = connect({ path: join(runDir, 'control.sock') })
  t.after(() => socket.destroy())
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return controlPeer(socket)
}
