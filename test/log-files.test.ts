import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Cleanup, fetchHttp, PROCESS_WAIT_MS, type Server, startServer, tempDir, waitFor, writeFiles } from '@svc/testkit'
import { freePlaces } from './nginx/differential.ts'

/** `log-format COMBINED` in the documentation of GoAccess, `%h %^[%d:%t %^] "%r" %s %b "%R" "%u"`, as a pattern. */
const COMBINED = /^(\S+) [^[]*\[(\d\d\/\w{3}\/\d{4}):(\d\d:\d\d:\d\d) [^\]]*\] "([^"]*)" (\d{3}) (\d+) "([^"]*)" "([^"]*)"$/

const CLIENTS = 8

/** Sends requests, each with a name of its own as user agent, until it is stopped. */
class NamedLoad {
  readonly answered: string[] = []
  readonly #url: string
  readonly #name: string
  readonly #clients: Promise<void>[]
  #sent = 0
  #isStopping = false

  constructor(url: string, name: string) {
    this.#url = url
    this.#name = name
    this.#clients = Array.from({ length: CLIENTS }, () => this.#run())
  }

  async more(count: number): Promise<void> {
    const wanted = this.answered.length + count
    await waitFor(`${count} more responses`, () => this.answered.length >= wanted, PROCESS_WAIT_MS)
  }

  async stop(): Promise<string[]> {
    this.#isStopping = true
    await Promise.all(this.#clients)
    return this.answered
  }

  async #run(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!this.#isStopping) {
      const name = `${this.#name}-${++this.#sent}`
      const headers = { host: 'a.test', 'user-agent': name }
      // A worker that is killed takes its connections with it.
      const answer = await fetchHttp(`${this.#url}/a.txt`, { headers, agent }).catch(() => undefined)
      if (answer?.status === 200) this.answered.push(name)
    }
    agent.destroy()
  }
}

function workersOf(server: Server): number[] {
  const text = readFileSync(`/proc/${server.ready.pid}/task/${server.ready.pid}/children`, 'utf8')
  const isWorker = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker')
  return text.trim().split(' ').map(Number).filter(isWorker)
}

describe('access log in a file', () => {
  const cleanups: Array<() => unknown> = []
  const t: Cleanup = { after: (fn) => void cleanups.push(fn as () => unknown) }
  const dir = tempDir(t, 'log-files')
  const logs = join(dir, 'logs')
  const path = join(logs, 'access.log')
  let server: Server
  let url = ''
  let toml = ''

  before(async () => {
    const [place] = await freePlaces(1)
    const address = `${place?.hosts[0]}:${place?.port}`
    url = `http://${address}`
    mkdirSync(logs)
    writeFiles(dir, {
      'root/a.txt': 'a',
      'root/both/a.txt': 'a',
      'root/own/a.txt': 'a',
      'root/quiet/a.txt': 'a',
      'v.conf': `server { listen ${address}; server_name a.test; root ${dir}/root;
        location /own { access_log ${logs}/own.log; }
        location /both { access_log ${logs}/own.log; access_log /dev/stdout; access_log ${logs}/other.log combined buffer=1k; }
        location /quiet { access_log off; access_log ${logs}/own.log; } }`,
    })
    toml = `[server]\nworkers = 2\nvhosts = ["${dir}/v.conf"]\n[logging]\naccess_format = "combined"\naccess_file = "${path}"\n`
    server = await startServer(t, { config: toml })
  })

  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })

  /** The lines of all files whose names begin so, in the order of their names. */
  const linesIn = (prefix: string): string[] =>
    readdirSync(logs)
      .filter((name) => name.startsWith(prefix))
      .sort()
      .flatMap((name) => readFileSync(join(logs, name), 'utf8').split('\n').slice(0, -1))

  const names = (lines: readonly string[]) => lines.map((line) => COMBINED.exec(line)?.[8] ?? `not a combined line: ${line}`)

  async function metric(line: RegExp): Promise<boolean> {
    return line.test((await fetchHttp(`${url}/__svc/metrics`)).text)
  }

  async function reopen(): Promise<void> {
    const done = () => server.child.stderr.split('"msg":"reopened the log files"').length
    const before = done()
    server.child.signal('SIGUSR1')
    await waitFor('the reopening', () => done() > before, PROCESS_WAIT_MS)
  }

  test('under rotation each request is in exactly one file', async () => {
    const load = new NamedLoad(url, 'rotated')
    for (let round = 0; round < 5; round++) {
      await load.more(100)
      renameSync(path, `${path}.${round}`)
      await reopen()
    }
    await load.more(100)
    const answered = await load.stop()
    await waitFor('all lines', () => linesIn('access.log').length >= answered.length, PROCESS_WAIT_MS)
    for (let round = 0; round < 5; round++) assert.notEqual(readFileSync(`${path}.${round}`, 'utf8'), '')
    assert.deepEqual(names(linesIn('access.log')).sort(), answered.sort())
    assert.equal(server.child.stdout.trim().split('\n').length, 1, 'only the ready line is on standard output')
  })

  test('access_log of a vhost file names the files of a location', async () => {
    // The first response is not from L0, the others are.
    const paths = ['/both', '/own', '/quiet'].flatMap((path) =>
      [1, 2, 3].map((i) => [`${path}/a.txt`, `vhost${path}-${i}`] as const),
    )
    for (const [path, name] of paths) await fetchHttp(`${url}${path}`, { headers: { host: 'a.test', 'user-agent': name } })
    const both = ['vhost/both-1', 'vhost/both-2', 'vhost/both-3']
    await waitFor('the lines', () => linesIn('own.log').length === 6 && linesIn('other.log').length === 3, PROCESS_WAIT_MS)
    assert.deepEqual(names(linesIn('own.log')).sort(), [...both, 'vhost/own-1', 'vhost/own-2', 'vhost/own-3'])
    assert.deepEqual(names(linesIn('other.log')).sort(), both)
    const ofServer = () => names(linesIn('access.log')).filter((name) => name.startsWith('vhost'))
    await waitFor('the lines for the log of the server', () => ofServer().length === 3, PROCESS_WAIT_MS)
    assert.deepEqual(ofServer().sort(), both)
  })

  test('nothing has been dropped', async () => {
    assert.ok(await metric(/^svc_log_lines_dropped_total 0$/m))
  })

  test('a client can neither forge a line nor end a field', async () => {
    const agent = 'x" 200 1 "-" "forged\\ \t \xc3\xa9 end'
    await fetchHttp(`${url}/%22a%0a?secret=1`, { headers: { host: 'a.test', 'user-agent': agent, referer: 'http://b.test/c?d' } })
    await waitFor('the line', () => linesIn('access.log').some((line) => line.includes('forged')), PROCESS_WAIT_MS)
    const [line = ''] = linesIn('access.log').filter((each) => each.includes('forged'))
    const [, client, , , request, status, , referrer, userAgent] = COMBINED.exec(line) ?? []
    assert.equal(client, '127.0.0.1')
    assert.deepEqual([request, status, referrer], ['GET /%22a%0a HTTP/1.1', '404', 'http://b.test'])
    assert.equal(userAgent, 'x\\x22 200 1 \\x22-\\x22 \\x22forged\\x5C \\x09 \\xC3\\xA9 end')
  })

  test('a worker that is killed leaves whole lines, and its successor writes on', async () => {
    writeFileSync(path, '')
    const load = new NamedLoad(url, 'killed')
    await load.more(100)
    const [killed = 0] = workersOf(server)
    process.kill(killed, 'SIGKILL')
    await waitFor('a successor', () => workersOf(server).length === 2 && !workersOf(server).includes(killed), PROCESS_WAIT_MS)
    await waitFor('both workers', () => metric(/^svc_processes_up\{kind="worker"\} 2$/m), PROCESS_WAIT_MS)
    await load.more(200)
    const answered = await load.stop()
    const found = () => names(readFileSync(path, 'utf8').split('\n').slice(0, -1))
    const later = answered.slice(-100)
    await waitFor('the last lines', () => later.every((name) => found().includes(name)), PROCESS_WAIT_MS)
    const all = found()
    assert.equal(new Set(all).size, all.length, 'no line is there twice')
    assert.deepEqual(
      all.filter((name) => !/^killed-\d+$/.test(name)),
      [],
    )
  })

  test('a path that cannot be opened again keeps its file, and one warning is logged', async () => {
    renameSync(path, `${path}.moved`)
    mkdirSync(path)
    await reopen()
    await reopen()
    await fetchHttp(`${url}/a.txt`, { headers: { host: 'a.test', 'user-agent': 'stays' } })
    await waitFor('the line', () => readFileSync(`${path}.moved`, 'utf8').includes('"stays"'), PROCESS_WAIT_MS)
    assert.equal(server.child.stderr.split('failed to reopen a log file').length, 2)
    rmdirSync(path)
    await reopen()
    assert.equal(readFileSync(path, 'utf8'), '')
  })

  test('after a reload lines go to the new path; a path that cannot be opened fails the reload', async () => {
    const config = readFileSync(server.configFile ?? '', 'utf8')
    const reload = async (to: string, message: string) => {
      const seen = () => server.child.stderr.split(message).length
      const before = seen()
      writeFileSync(server.configFile ?? '', config.replace(path, to))
      server.child.signal('SIGHUP')
      await waitFor(message, () => seen() > before, PROCESS_WAIT_MS)
    }
    await reload(join(dir, 'missing/access.log'), 'cannot write the log file')
    await fetchHttp(`${url}/a.txt`, { headers: { host: 'a.test', 'user-agent': 'old-path' } })
    await waitFor('the line in the old file', () => readFileSync(path, 'utf8').includes('"old-path"'), PROCESS_WAIT_MS)
    await reload(join(logs, 'new.log'), '"msg":"reloaded"')
    await fetchHttp(`${url}/a.txt`, { headers: { host: 'a.test', 'user-agent': 'new-path' } })
    await waitFor('the line in the new file', () => linesIn('new.log').length === 1, PROCESS_WAIT_MS)
    assert.deepEqual(names(linesIn('new.log')), ['new-path'])
  })

  test('what was answered before the end is in the file after it', async () => {
    const load = new NamedLoad(url, 'last')
    await load.more(50)
    const answered = await load.stop()
    assert.deepEqual(await server.child.stop(), { code: 0, signal: null })
    const found = names(linesIn('new.log'))
    assert.deepEqual(
      answered.filter((name) => !found.includes(name)),
      [],
    )
  })
})
