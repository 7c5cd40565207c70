// Campaign: installs, upgrades and removals of the package.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Child, repositoryRoot, requireNetworkNamespace, requireRoot, tempDir } from '@svc/testkit'

/** Builds a package that is not compressed. @returns its path */
async function built(t: TestContext, out: string, version: string): Promise<string> {
  const script = join(repositoryRoot, 'scripts/package-deb.mjs')
  const child = new Child(t, process.execPath, [script, '--out', out, '--compression', 'none', '--version', version])
  assert.equal((await child.exited).code, 0, child.stderr)
  return child.stdout.trim()
}

/** Says whether there is a program of Debian, and marks the test as skipped otherwise. */
function requireDpkg(t: TestContext): boolean {
  const isThere = spawnSync('dpkg-deb', ['--version']).status === 0
  if (!isThere) t.skip('needs dpkg-deb')
  return isThere
}

/** Says whether the system can be copied on write, and marks the test as skipped otherwise. */
function requireOverlay(t: TestContext, work: string): boolean {
  for (const name of ['a', 'b', 'c']) mkdirSync(join(work, name))
  const options = `lowerdir=/,upperdir=${work}/a,workdir=${work}/b`
  const { status, stderr } = spawnSync('unshare', ['--mount', 'mount', '-t', 'overlay', 'overlay', '-o', options, `${work}/c`], {
    encoding: 'utf8',
  })
  if (status !== 0) t.skip(`cannot mount an overlay: ${stderr}`)
  return status === 0
}

const OWNERS = {
  '/etc/svc': 'drwxr-x--- root:svc',
  '/etc/svc/svc.config.toml': '-rw-r----- root:svc',
  '/opt/svc': 'drwxr-xr-x root:root',
  '/opt/svc/current': 'lrwxrwxrwx root:root',
  '/opt/svc/releases/0.9.1': 'drwxr-xr-x root:root',
  '/usr/bin/svc': 'lrwxrwxrwx root:root',
  '/var/lib/svc/kept': 'absent',
}
const GONE = Object.fromEntries(Object.keys(OWNERS).map((path) => [path, 'absent']))
const KEPT = { '/etc/svc': OWNERS['/etc/svc'], '/etc/svc/svc.config.toml': OWNERS['/etc/svc/svc.config.toml'] }
const STATE = { '/var/lib/svc/kept': '-rw-r--r-- root:root' }

test('the Debian package installs, serves, upgrades, is removed with its state left, and purged without a trace', async (t) => {
  if (!requireRoot(t) || !requireDpkg(t) || !requireNetworkNamespace(t)) return
  const [work, out] = [tempDir(t, 'svc-deb'), tempDir(t, 'svc-deb')]
  if (!requireOverlay(t, out)) return
  const [first, second] = [await built(t, out, '0.9.1'), await built(t, out, '0.9.2-rc.1')]
  assert.match(second, /svc_0\.9\.2~rc\.1_(amd64|arm64)\.deb$/)
  const script = join(repositoryRoot, 'test/debian-package.sh')
  // The end of the first process of the namespace ends all others.
  const spaces = ['--mount', '--net', '--pid', '--fork', '--kill-child']
  const child = new Child(t, 'unshare', [...spaces, script, work, first, second])
  assert.equal((await child.exited).code, 0, child.stderr)

  const facts = child.stdout
    .split('\n')
    .filter((line) => line.startsWith('fact: '))
    .map((line) => line.slice('fact: '.length))
  const fact = (name: string) => facts.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const stateOf = (when: string) => {
    const lines = facts.filter((line) => line.startsWith(`${when}: /`)).map((line) => line.slice(when.length + 2))
    return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]))
  }
  assert.equal(fact('installed'), 'package installed 0.9.1')
  assert.deepEqual(stateOf('installed'), OWNERS)
  assert.equal(fact('user'), '/var/lib/svc:/usr/sbin/nologin')
  assert.equal(fact('kernel'), '-net.ipv4.tcp_migrate_req = 1')
  assert.equal(fact('check'), '/etc/svc/svc.config.toml: ok, 1 site')
  assert.match(fact('health') ?? '', /^200 .*"ok"/)
  assert.match(fact('page') ?? '', /^200 <!DOCTYPE html>/)
  assert.match(fact('status') ?? '', /^svc .*generation 1/)

  assert.equal(fact('upgraded'), 'package installed 0.9.2~rc.1')
  assert.equal(fact('link'), 'releases/0.9.2~rc.1')
  assert.equal(fact('kept'), '1')
  assert.deepEqual(stateOf('upgraded'), { ...OWNERS, ...STATE, '/opt/svc/releases/0.9.1': 'absent' })

  assert.equal(fact('removed'), 'package config-files 0.9.2~rc.1')
  assert.deepEqual(stateOf('removed'), { ...GONE, ...KEPT, ...STATE })
  assert.equal(fact('purged'), 'package none')
  assert.deepEqual(stateOf('purged'), GONE)
  assert.deepEqual([fact('cache'), fact('user after'), fact('units')], ['absent', 'svc', ''])
})

test('a package holds no file that others may write, of another owner, or of this checkout', async (t) => {
  if (!requireDpkg(t)) return
  const file = await built(t, tempDir(t, 'svc-deb'), '0.9.1')
  const lines = spawnSync('dpkg-deb', ['--contents', file], { encoding: 'utf8', maxBuffer: 1e8 }).stdout.trimEnd().split('\n')
  assert.ok(lines.length > 300)
  const wrong = lines.filter((line) => !/^(?:d|-)rw[x-]r-[x-]r-[x-] root\/root |^lrwxrwxrwx root\/root /.test(line))
  assert.deepEqual(wrong, [])
  const paths = lines.map((line) => line.split(' ./')[1] ?? '')
  const places =
    /^$|^(?:etc|opt|usr)\/$|^etc\/svc\/|^opt\/svc\/|^usr\/(?:bin|share|lib)\/(?:$|svc|doc\/(?:$|svc\/)|sysctl\.d\/(?:$|50-svc\.conf$)|systemd\/(?:$|system\/(?:$|svc)))/
  assert.deepEqual(
    paths.filter((path) => !places.test(path)),
    [],
  )
  assert.deepEqual(
    paths.filter((path) => /\/(?:test|src|tests|code-cache|\.svc)\/|\.map$|playwright|typescript/.test(path)),
    [],
  )
})
