// Prints the files that run code for one ISR miss, by process: V8's precise coverage of a server that is started for it, taken
// before and after one request. Code inside the isolate and the master's part (the lease) are not seen. Needs a build, and the
// inspector's port 9229.
//
//   bin/node scripts/trace-miss.mjs
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const DEADLINE_MS = 30_000
/** A copy of the programs beside `dist`, in which SIGUSR1 starts Node's inspector: it is a signal for log files otherwise. */
const programs = join(root, 'dist-traced')
/** With it, a process takes no SIGUSR1. */
const NO_DEBUGGER = '--disable-sigusr1'
/** Long enough for the work after a response (log, commit to the store) and for a pause with heartbeats only. */
const SETTLE_MS = 500
const WARM_REQUESTS = 8

const files = {
  'site/app/layout.jsx': 'export default ({ children }) => <html><body>{children}</body></html>',
  'site/app/p/[slug]/page.jsx': 'export const revalidate = 60\nexport default async ({ params }) => <p>{(await params).slug}</p>',
  'svc.config.toml': `[server]
listen = "127.0.0.1:0"
workers = 1
run_dir = "run"
state_dir = "state"
[cache]
dir = "cache"
[[sites]]
id = "traced"
hostnames = ["traced.test"]
root = "site"
`,
}

function copyPrograms() {
  cpSync(join(root, 'dist'), programs, { recursive: true })
  for (const name of ['worker.cjs', 'render-host.cjs']) {
    const path = join(programs, name)
    const text = readFileSync(path, 'utf8')
    const traced = text.replace(', "SIGUSR1"]) process.on(', ']) process.on(')
    if (traced === text) throw new Error(`${name} does not handle SIGUSR1 as this script expects`)
    writeFileSync(path, traced)
  }
  // Nor may the master switch the signal off when it starts them.
  const blocking = readdirSync(programs, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.c?js$/.test(name))
    .map((name) => join(programs, name))
    .filter((path) => readFileSync(path, 'utf8').includes(NO_DEBUGGER))
  if (blocking.length === 0) throw new Error(`no program has ${NO_DEBUGGER}`)
  for (const path of blocking) writeFileSync(path, readFileSync(path, 'utf8').replaceAll(NO_DEBUGGER, '--no-deprecation'))
}

function svc(args, stdio) {
  return spawn(join(root, 'bin/node'), [join(programs, 'cli.js'), ...args], { stdio })
}

async function startServer(dir) {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true })
    await writeFile(join(dir, name), text)
  }
  const config = join(dir, 'svc.config.toml')
  const child = svc(['serve', '--config', config], ['ignore', 'pipe', 'ignore'])
  const lines = createInterface(child.stdout)
  for await (const line of lines) {
    const { event, listen } = JSON.parse(line)
    if (event === 'ready') return { child, url: listen[0], config }
  }
  throw new Error('the server did not start')
}

async function pidOf(kind, config) {
  const child = svc(['status', '--json', '--config', config], ['ignore', 'pipe', 'inherit'])
  let text = ''
  for await (const chunk of child.stdout) text += chunk
  const { workers, hosts } = JSON.parse(text)
  return kind === 'worker' ? workers[0].pid : hosts.find(({ sites }) => sites.length > 0).pid
}

/** A session of the inspector with a process, and with its threads. */
class Inspector {
  #socket
  #lastId = 0
  #pending = new Map()
  threads = []

  static async attach(pid) {
    process.kill(pid, 'SIGUSR1')
    const end = Date.now() + DEADLINE_MS
    while (Date.now() < end) {
      const targets = await fetch('http://127.0.0.1:9229/json').then(
        (answer) => answer.json(),
        () => undefined,
      )
      if (targets !== undefined) return new Inspector().#open(targets[0].webSocketDebuggerUrl)
      await delay(100)
    }
    throw new Error(`no inspector of process ${pid}`)
  }

  async #open(url) {
    this.#socket = new WebSocket(url)
    this.#socket.onmessage = ({ data }) => this.#receive(JSON.parse(data), '')
    await once(this.#socket, 'open')
    await this.send('NodeWorker.enable', { waitForDebuggerOnStart: false })
    await delay(SETTLE_MS)
    return this
  }

  #receive({ id, result, method, params }, session) {
    if (method === 'NodeWorker.attachedToWorker') this.threads.push(params.sessionId)
    else if (method === 'NodeWorker.receivedMessageFromWorker') this.#receive(JSON.parse(params.message), params.sessionId)
    else if (id !== undefined) this.#pending.get(`${session}:${id}`)?.(result)
  }

  send(method, params = {}, session = '') {
    const id = ++this.#lastId
    const message = { id, method, params }
    const { promise, resolve } = Promise.withResolvers()
    this.#pending.set(`${session}:${id}`, resolve)
    if (session === '') this.#socket.send(JSON.stringify(message))
    else this.send('NodeWorker.sendMessageToWorker', { sessionId: session, message: JSON.stringify(message) })
    return promise
  }

  async start() {
    for (const session of ['', ...this.threads]) {
      await this.send('Profiler.enable', {}, session)
      await this.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false }, session)
    }
  }

  /** The files that ran code since the last call, for the process and for each thread. */
  async take() {
    const taken = []
    for (const session of ['', ...this.threads]) {
      const { result } = await this.send('Profiler.takePreciseCoverage', {}, session)
      taken.push(sourcesOf(result))
    }
    return taken
  }

  close() {
    this.#socket.close()
  }
}

const marks = new Map()

/** The source that a place of a bundle comes from: esbuild names each before its code. */
function sourceAt(path, offset) {
  if (!marks.has(path)) {
    const text = readFileSync(path, 'utf8')
    marks.set(
      path,
      [...text.matchAll(/^\/\/ (packages\/\S+|node_modules\/\S+)$/gm)].map((match) => [match.index, match[1]]),
    )
  }
  return marks.get(path).findLast(([index]) => index <= offset)?.[1]
}

function sourcesOf(scripts) {
  const found = new Set()
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file://') || !url.includes('/dist-traced/')) continue
    for (const { functionName, ranges } of functions) {
      if (functionName === '' || ranges[0].count === 0) continue
      const source = sourceAt(fileURLToPath(url), ranges[0].startOffset)
      if (source?.startsWith('packages/')) found.add(source)
    }
  }
  return [...found].toSorted()
}

async function trace(kind) {
  const dir = mkdtempSync(join(tmpdir(), 'svc-trace-'))
  const { child, url, config } = await startServer(dir)
  try {
    const get = async (name) => (await fetch(`${url}/p/${name}`)).text()
    for (let index = 0; index < WARM_REQUESTS; index++) await get(`warm-${index}`)
    const inspector = await Inspector.attach(await pidOf(kind, config))
    await inspector.start()
    await get('after-start')
    await delay(SETTLE_MS)
    await inspector.take()
    await get('traced')
    await delay(SETTLE_MS)
    const taken = await inspector.take()
    inspector.close()
    for (const [index, sources] of taken.entries()) {
      if (sources.length === 0) continue
      console.log(`${index === 0 ? kind : 'render thread'}: ${sources.length} files`)
      for (const source of sources) console.log(`  ${source}`)
    }
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
    rmSync(dir, { recursive: true, force: true })
  }
}

copyPrograms()
try {
  for (const kind of ['worker', 'render host']) await trace(kind)
} finally {
  rmSync(programs, { recursive: true, force: true })
}
