// Campaign: faults during reloads.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  Child,
  fetchHttp,
  PROCESS_WAIT_MS,
  type ReadyLine,
  type Server,
  startServer,
  svcCommand,
  tempDir,
  waitFor,
  writeFiles,
} from '@svc/testkit'
import { statusOf } from './control.ts'

const hosts = ['a.test', 'b.test']

function writeVersion(dir: string, version: string): void {
  const servers = hosts.map(
    (name) => `server { listen 127.0.0.1:0; server_name ${name}; location / { return 200 "${version}"; } }`,
  )
  writeFiles(dir, { 'all.conf': servers.join('\n') })
}

/** The versions that both hosts have, over more connections than the kernel gives to one worker. */
async function versionsAt(url: string): Promise<string[]> {
  const asked = Array.from({ length: 32 }, (_, i) => fetchHttp(`${url}/`, { host: hosts[i % 2] ?? '' }))
  return [...new Set((await Promise.all(asked)).map(({ text }) => text))]
}

test('a reload that is interrupted leaves the old configuration or the new one in all workers, and says so', async (t) => {
  const dir = tempDir(t, 'vhosts')
  writeVersion(dir, 'v1')
  const server = await startServer(t, { config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\nvhosts = ["${dir}/*.conf"]\n` })
  const config = server.configFile ?? ''
  const versions = () => versionsAt(server.ready.listen.at(-1) ?? '')
  const reload = () => new Child(t, svcCommand, ['reload', '--config', config])
  let reloads = 0
  /** Begins a reload that cannot end: one worker does not respond. */
  const beginStuck = async (version: string) => {
    writeVersion(dir, version)
    const stopped = (await statusOf(server)).workers[1]?.pid ?? assert.fail('no second worker')
    process.kill(stopped, 'SIGSTOP')
    t.after(() => tryKill(stopped))
    const command = reload()
    reloads++
    await waitFor('the reload', () => server.child.stderr.split('"msg":"reloading"').length > reloads, PROCESS_WAIT_MS)
    return { stopped, command }
  }
  assert.deepEqual(await versions(), ['v1'])

  // The files change again meanwhile.
  const changed = await beginStuck('v2')
  writeVersion(dir, 'v3')
  process.kill(changed.stopped, 'SIGCONT')
  assert.equal((await changed.command.exited).code, 0, changed.command.stderr)
  const [version = '', ...others] = await versions()
  assert.match(version, /^v[23]$/)
  assert.deepEqual(others, [])
  assert.equal((await reload().exited).code, 0)
  reloads++
  assert.deepEqual(await versions(), ['v3'])

  // A worker dies meanwhile. One that dies before its turn is left out: the reload then succeeds with the others.
  const allReady = async () => (await statusOf(server)).workers.every(({ state }) => state === 'ready')
  let served = 'v3'
  for (let attempt = 1, hasFailed = false; !hasFailed; attempt++) {
    assert.ok(attempt <= 5, 'no reload has failed')
    const { generation } = await statusOf(server)
    const killed = await beginStuck(`w${attempt}`)
    // Its turn comes soon after the files are read.
    for (let i = 0; i < 5; i++) await statusOf(server)
    process.kill(killed.stopped, 'SIGKILL')
    hasFailed = (await killed.command.exited).code !== 0
    if (!hasFailed) served = `w${attempt}`
    else {
      assert.match(killed.command.stderr, /worker 2 failed to prepare/)
      assert.match(server.child.stderr, /reload failed; the old configuration stays in service/)
      assert.equal((await statusOf(server)).generation, generation)
    }
    await waitFor('another worker', allReady, PROCESS_WAIT_MS)
    assert.deepEqual(await versions(), [served])
  }

  // The master dies meanwhile.
  await afterDeathOfMaster(server, await beginStuck('v5'))
  const again = new Child(t, svcCommand, ['serve', '--config', config], { cwd: join(config, '..') })
  const line = await again.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
  assert.deepEqual(await versionsAt((JSON.parse(line) as ReadyLine).listen.at(-1) ?? ''), ['v5'])
})

/** Kills the master. Its reload is reported as failed, and its processes, which no one would reload any more, end. */
async function afterDeathOfMaster(server: Server, { stopped, command }: { stopped: number; command: Child }): Promise<void> {
  process.kill(server.ready.pid, 'SIGKILL')
  assert.equal((await command.exited).code, 69)
  assert.equal(command.stderr, 'svc: the server ended before it answered: its log says why\n')
  process.kill(stopped, 'SIGCONT')
  const url = `${server.ready.listen.at(-1)}/`
  await waitFor(
    'the end of the workers',
    () =>
      fetchHttp(url).then(
        () => false,
        () => true,
      ),
    PROCESS_WAIT_MS,
  )
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
