import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'

/** Programs of Debian packages that tests use. */
const packages = {
  'redis-server': { packageName: 'redis-server', names: ['redis-server'] },
  'redis-cli': { packageName: 'redis-tools', names: ['redis-cli'] },
  'php-fpm': { packageName: 'php-fpm', names: ['php-fpm', 'php-fpm8.2', 'php-fpm8.4', 'php-fpm8.3', 'php-fpm8.1'] },
  uwsgi: { packageName: 'uwsgi-core uwsgi-plugin-python3', names: ['uwsgi'] },
  nginx: { packageName: 'nginx-light', names: ['nginx'] },
  curl: { packageName: 'curl', names: ['curl'] },
  openssl: { packageName: 'openssl', names: ['openssl'] },
  script: { packageName: 'bsdutils', names: ['script'] },
  ip: { packageName: 'iproute2', names: ['ip'] },
  prometheus: { packageName: 'prometheus', names: ['prometheus'] },
  promtool: { packageName: 'prometheus', names: ['promtool'] },
  chromium: { packageName: 'chromium', names: ['chromium', 'chromium-browser', 'google-chrome'] },
} as const

function findExecutable(names: readonly string[]): string | undefined {
  const dirs = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  for (const path of names.flatMap((name) => dirs.map((dir) => join(dir, name)))) {
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not here: the next place.
    }
  }
  return undefined
}

/** Path of a program from a Debian package; undefined: it is not installed. */
export function findProgram(program: keyof typeof packages): string | undefined {
  return findExecutable(packages[program].names)
}

/**
 * Path of a program from a Debian package, or undefined after marking the test as skipped for want of it. Under CI a missing
 * program is a failure.
 */
export function requireProgram(t: TestContext, program: keyof typeof packages): string | undefined {
  const { packageName, names } = packages[program]
  const path = findExecutable(names)
  if (path !== undefined) return path
  const message = `needs ${program} of the Debian package ${packageName}: sudo apt-get install ${packageName}`
  skip(t, message)
  return undefined
}

/** Programs of Redis, or undefined after marking the test as skipped for want of them. See `requireProgram`. */
export function requireRedisPrograms(t: TestContext): { server: string; cli: string } | undefined {
  const [server, cli] = [requireProgram(t, 'redis-server'), requireProgram(t, 'redis-cli')]
  return server === undefined || cli === undefined ? undefined : { server, cli }
}

/**
 * Says whether the test may make network namespaces with the program `ip` in them. If it may not, the test is marked as skipped,
 * and fails under CI.
 */
export function requireNetworkNamespace(t: TestContext): boolean {
  if (requireProgram(t, 'ip') === undefined) return false
  const { status, stderr } = spawnSync('unshare', ['--net', '--mount', 'ip', 'link', 'set', 'lo', 'up'], { encoding: 'utf8' })
  if (status !== 0) skip(t, `needs the right to make a network namespace (root): ${stderr ?? 'no program unshare'}`)
  return status === 0
}

/** Says whether the test may start processes as other users. If it may not, the test is marked as skipped. */
export function requireRoot(t: TestContext): boolean {
  const isRoot = process.getuid?.() === 0
  if (!isRoot) t.skip('needs to be root to start processes as other users')
  return isRoot
}

function skip(t: TestContext, message: string): void {
  if (process.env['CI'] === 'true') throw new Error(message)
  t.skip(message)
}
