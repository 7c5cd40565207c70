// Campaign: starts with directories that cannot be used.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { socketDirectory } from '@svc/config'
import {
  Child,
  fetchHttp,
  type ReadyLine,
  removeAfter,
  repositoryRoot,
  requireRoot,
  svcCommand,
  tempDir,
  writeFiles,
} from '@svc/testkit'

const NOBODY = 65_534
const EXIT_CONFIG = 78
const page = { 'app/page.tsx': 'export default function Page() { return <h1>deep</h1> }\n' }

async function serve(t: TestContext, args: readonly string[]) {
  const child = new Child(t, svcCommand, ['serve', ...args])
  const line = await child.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
  const ready = JSON.parse(line) as ReadyLine
  return { child, pid: ready.pid, url: ready.listen[0] ?? '' }
}

/** Runs a command to its end. */
async function run(t: TestContext, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const child = new Child(t, svcCommand, args, options)
  const { code } = await child.exited
  return { code, stdout: child.stdout, stderr: child.stderr }
}

/** Paths below a directory that are neither files nor directories. */
function specialFiles(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isFile() && !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
}

test('a site in a deep directory is served, found from every shell, and stopped; no socket lies in its directory', async (t) => {
  const dir = join(tempDir(t), 'a-directory-with-a-long-name/'.repeat(10), 'site')
  writeFiles(dir, page)
  const server = await serve(t, [dir, '--listen', '127.0.0.1:0'])
  assert.match((await fetchHttp(`${server.url}/`)).text, /deep/)
  assert.deepEqual(specialFiles(dir), [])
  assert.ok(readdirSync(join(dir, '.svc/cache/modules')).length > 0)

  const shells = [{ cwd: dir }, { cwd: dir, env: { PATH: process.env['PATH'], TMPDIR: dir, XDG_RUNTIME_DIR: dir } }]
  for (const shell of shells) {
    const status = await run(t, ['status', '--json'], shell)
    assert.equal(status.code, 0, status.stderr)
    assert.equal(JSON.parse(status.stdout).pid, server.pid)
  }
  const second = await run(t, ['serve', dir, '--listen', '127.0.0.1:0'])
  assert.equal(second.code, 69)
  const runDir = /run directory (\/tmp\/svc-\S+)/.exec(second.stderr)?.[1] ?? ''
  assert.equal(dirname(runDir), '/tmp', second.stderr)
  removeAfter(t, runDir)
  assert.equal(lstatSync(runDir).mode & 0o777, 0o700)

  const stop = await run(t, ['stop', '--dir', dir])
  assert.equal(stop.code, 0, stop.stderr)
  assert.deepEqual(await server.child.exited, { code: 0, signal: null })
  assert.equal(existsSync(join(runDir, 'svc.pid')), false)
})

test('a run directory with a path of 300 bytes holds all sockets, and every command finds them', async (t) => {
  const dir = tempDir(t)
  const runDir = join(dir, 'a-run-directory-with-a-long-name/'.repeat(10), 'run')
  assert.ok(Buffer.byteLength(runDir) > 300)
  writeFiles(dir, {
    'svc.config.toml': `[server]
listen = "127.0.0.1:0"
workers = 1
run_dir = "${runDir}"
state_dir = "${dir}/state"
[cache]
dir = "${dir}/cache"
[[sites]]
id = "a"
hostnames = ["localhost", "127.0.0.1"]
root = "site"
`,
    'site/app/page.tsx': page['app/page.tsx'],
  })
  const config = ['--config', join(dir, 'svc.config.toml')]
  const server = await serve(t, config)
  assert.match((await fetchHttp(`${server.url}/`)).text, /deep/)
  // The socket of the spare host comes when the server is ready.
  assert.deepEqual(
    readdirSync(runDir).filter((name) => name.endsWith('.sock') && name !== 'host-2.sock'),
    ['control.sock', 'host-1.sock', 'units.sock'],
  )
  for (const command of ['status', 'reload', 'stop']) {
    const { code, stderr } = await run(t, [command, ...config])
    assert.equal(code, 0, `${command}: ${stderr}`)
  }
  assert.deepEqual(await server.child.exited, { code: 0, signal: null })
  assert.deepEqual(readdirSync(runDir), ['run.lock.1'])
})

test('root finds the server that another user runs from a directory', async (t) => {
  if (!requireRoot(t)) return
  const ids = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups']
  if (spawnSync('setpriv', [...ids, 'test', '-r', svcCommand]).status !== 0) return t.skip('other users cannot read the checkout')
  const dir = tempDir(t)
  writeFiles(dir, page)
  for (const path of [dir, join(dir, 'app'), join(dir, 'app/page.tsx')]) chownSync(path, NOBODY, NOBODY)
  removeAfter(t, socketDirectory(join(dir, '.svc'), NOBODY))
  const server = new Child(t, 'setpriv', [...ids, svcCommand, 'serve', dir, '--listen', '127.0.0.1:0'])
  await server.waitForLine('ready line', (text) => text.startsWith('{"event":"ready"'))
  for (const args of [['status'], ['reload'], ['stop']]) {
    const { code, stderr } = await run(t, args, { cwd: dir })
    assert.equal(code, 0, `${args}: ${stderr}`)
  }
  assert.deepEqual(await server.exited, { code: 0, signal: null })
})

test('root keeps nothing in the directory of another user, and follows no link in it', async (t) => {
  if (!requireRoot(t)) return
  const dir = tempDir(t)
  chmodSync(dir, 0o755)
  const victim = join(dir, 'victim')
  mkdirSync(victim)
  chmodSync(victim, 0o755)
  const site = join(dir, 'site')
  writeFiles(site, page)
  mkdirSync(join(site, '.svc'))
  for (const name of ['state', 'cache', 'run']) symlinkSync(victim, join(site, '.svc', name))
  for (const path of [site, join(site, '.svc')]) chownSync(path, NOBODY, NOBODY)
  removeAfter(t, socketDirectory(join(site, '.svc'), 0))
  const server = await serve(t, [site, '--listen', '127.0.0.1:0'])
  const notice = await server.child.waitForLine('the notice', (line) => line.includes('belongs to user 65534'))
  removeAfter(t, /it lies in (\/var\/lib\/svc-standalone\/[0-9a-f]+)/.exec(notice)?.[1] ?? '/nowhere')
  assert.match((await fetchHttp(`${server.url}/`)).text, /deep/)
  const status = await run(t, ['status', '--json'], { cwd: site })
  assert.equal(JSON.parse(status.stdout).pid, server.pid)
  assert.equal((await run(t, ['stop', '--dir', site])).code, 0)
  assert.deepEqual([statSync(victim).mode & 0o777, readdirSync(victim)], [0o755, []])
})

test('root starts the example configuration in a checkout of another user, and keeps nothing in it', async (t) => {
  if (!requireRoot(t)) return
  const dir = tempDir(t)
  chmodSync(dir, 0o755)
  const examples = join(dir, 'examples')
  cpSync(join(repositoryRoot, 'examples'), examples, { recursive: true, filter: (path) => !path.includes('/.svc') })
  const file = join(examples, 'svc.config.toml')
  writeFileSync(file, readFileSync(file, 'utf8').replace('127.0.0.1:8080', '127.0.0.1:0'))
  chownSync(examples, NOBODY, NOBODY)
  removeAfter(t, socketDirectory(join(examples, '.svc'), 0))
  const server = await serve(t, ['--config', file])
  const notice = await server.child.waitForLine('the notice', (line) => line.includes('belongs to user 65534'))
  const place = /it lies in (\/var\/lib\/svc-standalone\/[0-9a-f]+)/.exec(notice)?.[1] ?? '/nowhere'
  removeAfter(t, place)
  assert.equal((await fetchHttp(`${server.url}/`, { host: 'blog.localhost' })).status, 200)
  assert.equal(existsSync(join(examples, '.svc')), false)
  assert.deepEqual(readdirSync(place).toSorted(), ['cache', 'state'])
  const status = await run(t, ['status', '--json', '--config', file])
  assert.equal(JSON.parse(status.stdout).pid, server.pid)
  assert.equal((await run(t, ['stop', '--config', file])).code, 0)
})

test('a start refuses what another user has planted in a shared directory, and says what to do', async (t) => {
  if (!requireRoot(t)) return
  const dir = tempDir(t)
  chmodSync(dir, 0o1777)
  writeFiles(dir, page)
  const own = join(dir, '.svc')
  const refusal = async () => {
    const { code, stderr } = await run(t, ['serve', dir, '--listen', '127.0.0.1:0'])
    assert.equal(code, EXIT_CONFIG, stderr)
    return stderr
  }
  mkdirSync(join(own, 'cache/modules'), { recursive: true })
  chownSync(own, NOBODY, NOBODY)
  assert.match(await refusal(), /\.svc belongs to user 65534, and this process runs as user 0; remove it/)
  chownSync(own, 0, 0)
  chownSync(join(own, 'cache/modules'), NOBODY, NOBODY)
  assert.match(await refusal(), /modules belongs to user 65534/)
  rmSync(own, { recursive: true })
  symlinkSync('elsewhere', own)
  assert.match(await refusal(), /\.svc is a symbolic link to elsewhere; remove it/)
  rmSync(own)
  mkdirSync(own)
  chmodSync(own, 0o777)
  writeFileSync(join(own, 'planted'), '')
  assert.match(await refusal(), /can be written by others \(mode 777\) and is not empty/)
  rmSync(own, { recursive: true })
  mkdirSync(join(own, 'cache'), { recursive: true })
  symlinkSync(dir, join(own, 'cache/isr'))
  assert.match(await refusal(), /isr is a symbolic link; remove it/)
})
