import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  fetchHttp,
  PROCESS_WAIT_MS,
  SocketHolder,
  startLoad,
  svcCommand,
  tempDir,
  tempSite,
  waitFor,
  writeCertificate,
  writeFiles,
} from '@svc/testkit'
import { reloaded, statusOf } from './control.ts'

const LOAD_REQUESTS = 300

interface Activated {
  readonly holder: SocketHolder
  readonly configFile: string
  /** Writes the configuration with these addresses. */
  configure(listen: string): void
}

/** Sockets for plain HTTP and TLS, and a configuration of one site with a page. Nothing runs yet. */
async function openSockets(t: TestContext): Promise<Activated> {
  const dir = tempDir(t, 'activated')
  const root = tempSite(t, { 'app/page.tsx': 'export default () => <p>hello</p>', 'public/a.txt': 'a' })
  const { cert, key } = writeCertificate(dir, 'a', { commonName: 'a.test', hosts: ['a.test'] })
  const configFile = join(dir, 'svc.config.toml')
  const holder = await SocketHolder.open(t, 2, [svcCommand, 'serve', '--config', configFile])
  const configure = (listen: string) =>
    writeFiles(dir, {
      'svc.config.toml': `[server]\n${listen}\nworkers = 2\nstate_dir = "state"\nrun_dir = "run"\n[cache]\ndir = "cache"\n[[sites]]\nid = "a"\nhostnames = ["a.test"]\nroot = "${root}"\ntls_cert = "${cert}"\ntls_key = "${key}"\n`,
    })
  return { holder, configFile, configure }
}

/** Ends the server, which must not cut anything, and waits for it. */
async function stop({ holder }: Activated, pid: number): Promise<void> {
  process.kill(pid, 'SIGTERM')
  assert.equal(await holder.ended(), 0)
}

function socketsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`)
    } catch {
      return []
    }
  })
}

test('with the sockets of systemd', async (t) => {
  const activated = await openSockets(t)
  const { holder, configFile, configure } = activated
  const [plain = 0, tls = 0] = holder.ports
  const both = `listen = "127.0.0.1:${plain}"\nlisten_tls = "127.0.0.1:${tls}"`
  const read = (url: string) => fetchHttp(`${url}/a.txt`, { host: 'a.test' })
  let pid = 0

  await t.test('a socket that no address names ends the start', async () => {
    configure(`listen = "127.0.0.1:${plain}"`)
    pid = await holder.start()
    assert.equal(await holder.ended(), 78)
    assert.match(
      holder.child.stderr,
      new RegExp(`a socket for 127\\.0\\.0\\.1:${tls}, and the listen addresses are 127\\.0\\.0\\.1:${plain}`),
    )
  })

  await t.test('connections that are made while no server runs are answered by the next one, over TLS too', async () => {
    configure(both)
    const early = [read(`http://127.0.0.1:${plain}`), read(`https://127.0.0.1:${tls}`)]
    pid = await holder.start()
    assert.deepEqual(
      (await Promise.all(early)).map(({ status, text }) => [status, text]),
      [
        [200, 'a'],
        [200, 'a'],
      ],
    )
  })

  await t.test('the processes with the code of sites do not get the sockets', async () => {
    await holder.ready()
    const server = { child: holder.child, url: '', configFile, ready: JSON.parse('{}') }
    await waitFor('the render host', async () => (await statusOf(server)).hosts.length > 0, PROCESS_WAIT_MS)
    const { workers, hosts } = await statusOf(server)
    const own = socketsOf(pid)
    const [held] = [readlinkSync(`/proc/${pid}/fd/3`)]
    assert.ok(own.includes(held) && held.startsWith('socket:'))
    for (const worker of workers) assert.ok(socketsOf(worker.pid).includes(held), 'a worker has them')
    for (const host of hosts) assert.equal(socketsOf(host.pid).includes(held), false, 'a render host has none')
  })

  await t.test('no request fails while the service restarts again and again', async (t) => {
    const load = (url: string) => startLoad(t, { url: `${url}/`, host: 'a.test', keepAlive: 2, fresh: 2, retriesKept: true })
    const loads = [load(`http://127.0.0.1:${plain}`), load(`https://127.0.0.1:${tls}`)]
    for (let round = 1; round <= 2; round++) {
      for (const { done } of loads) {
        await waitFor(`round ${round} of the load`, () => done() >= (LOAD_REQUESTS * round) / 2, PROCESS_WAIT_MS)
      }
      await stop(activated, pid)
      pid = await holder.start()
    }
    await holder.ready()
    const reports = await Promise.all(loads.map((load) => load.stop()))
    for (const { ok, failures } of reports) {
      assert.deepEqual(failures.slice(0, 5), [])
      assert.ok(ok >= LOAD_REQUESTS)
    }
  })

  await t.test('an address that a reload removes is reported, and comes back with a restart only', async () => {
    const server = { child: holder.child, url: '', configFile, ready: JSON.parse('{}') }
    configure(`listen = "127.0.0.1:${plain}"`)
    await reloaded(server)
    await holder.child.waitForLine('the report', (line) => line.includes('systemd still holds the socket of an address'))
    configure(both)
    await assert.rejects(reloaded(server), /is a socket of systemd that was given up: restart/)
    assert.equal((await read(`http://127.0.0.1:${plain}`)).text, 'a')
    await stop(activated, pid)
    pid = await holder.start()
    assert.equal((await read(`https://127.0.0.1:${tls}`)).text, 'a')
    await holder.ready()
    await stop(activated, pid)
  })
})
