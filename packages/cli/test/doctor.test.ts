// Runs alone: it starts the command often, and waits for a deadline of five seconds.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { StatusReport } from '@svc/protocol'
import {
  Child,
  removeAfter,
  requireNetworkNamespace,
  requireProgram,
  requireRoot,
  startRedis,
  svcCommand,
  tempDir,
  writeCertificate,
  writeFiles,
} from '@svc/testkit'
import { networkCheck } from '../src/doctor/checks/network.ts'
import type { Finding } from '../src/doctor/model/finding.ts'
import type { Check, Subject } from '../src/doctor/model/subject.ts'
import { examine } from '../src/doctor/run/examine.ts'
import { runSvc } from './run-svc.ts'
import { scriptMaster } from './scripted-master.ts'

const PASSWORD = 'a-password-of-redis'

interface Place {
  readonly dir: string
  readonly config: string
  /** Answers of `systemctl show` by unit. */
  readonly units: Record<string, Record<string, string>>
  readonly env: Record<string, string>
}

/** A configuration with a certificate, Redis and a site of its own process, and programs of systemd that know its units. */
function place(t: TestContext, redisUrl: string, certificate: { cert: string; key: string }): Place {
  // A unit has a /tmp of its own.
  const dir = removeAfter(t, realpathSync(mkdtempSync('/var/tmp/svc-doctor-')))
  const config = join(dir, 'svc.config.toml')
  const site = (id: string, mode: string) =>
    `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "site"\nprocess = "${mode}"\ntls_cert = "${certificate.cert}"\ntls_key = "${certificate.key}"\n`
  writeFiles(dir, {
    'svc.config.toml': `[server]\nlisten = "127.0.0.1:8080"\nlisten_tls = "127.0.0.1:8443"\nrun_dir = "${dir}/run"\nstate_dir = "${dir}/state"\n[cache]\ndir = "${dir}/cache"\n[redis]\nurl = "${redisUrl}"\n${site('blog', 'in-process')}${site('shop', 'own')}`,
    'site/app/page.tsx': 'export default () => null\n',
    'path/timedatectl': '#!/bin/sh\necho yes\n',
    'path/systemctl': `#!/bin/sh\nfor unit; do :; done\ncat "${dir}/units/$unit"\n`,
  })
  for (const name of ['timedatectl', 'systemctl']) chmodSync(join(dir, 'path', name), 0o755)
  for (const name of ['run', 'state', 'cache']) mkdirSync(join(dir, name), { mode: 0o700 })
  const active = { LoadState: 'loaded', ActiveState: 'active', UnitFileState: 'enabled', NeedDaemonReload: 'no', User: '' }
  const units = { 'svc.service': { ...active }, 'svc-shop.service': { ...active }, 'svc.socket': { ...active } }
  return { dir, config, units, env: { PATH: `${join(dir, 'path')}:${process.env['PATH']}` } }
}

async function writeUnits({ dir, config, units }: Place): Promise<void> {
  for (const [name, state] of Object.entries(units)) {
    const site = /^svc-(.+)\.service$/.exec(name)?.[1]
    const user = process.getuid?.() === 0 ? 'root' : String(process.getuid?.())
    const kind = name.endsWith('.socket') ? ['--socket'] : site === undefined ? [] : ['--site', site]
    const args = ['systemd', '--config', config, '--user', user, ...kind]
    const { stdout, stderr } = await runSvc(args)
    assert.equal(stderr, '')
    const path = join(dir, name)
    writeFileSync(path, stdout)
    const lines = Object.entries({ FragmentPath: path, ...state }).map(([key, value]) => `${key}=${value}\n`)
    writeFiles(dir, { [`units/${name}`]: lines.join('') })
  }
}

/** Runs the command, perhaps by another program. @returns exit code, findings and all that was printed */
async function doctor(t: TestContext, { config, env }: Pick<Place, 'config' | 'env'>, before: readonly string[] = []) {
  const [program = '', ...args] = [...before, svcCommand, 'doctor', '--json', '--config', config]
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_') && name !== 'NODE_OPTIONS')
  const child = new Child(t, program, args, { cwd: '/', env: { ...Object.fromEntries(inherited), ...env } })
  const { code } = await child.exited
  assert.equal(child.stderr, '')
  const { ok, findings } = JSON.parse(child.stdout) as { ok: boolean; findings: Finding[] }
  assert.equal(ok, code === 0)
  return { code, findings, stdout: child.stdout }
}

function named(findings: readonly Finding[], check: string, message: RegExp): Finding {
  const found = findings.find((one) => one.check === check && message.test(one.message))
  assert.ok(found, `${check} ${message}: ${JSON.stringify(findings, undefined, 1)}`)
  return found
}

/** Faults of the kernel under the test are left out. */
function faults(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ check, status }) => status !== 'ok' && check !== 'network')
}

test('a machine without faults gives none', async (t) => {
  const executable = requireProgram(t, 'redis-server')
  if (executable === undefined) return
  const redis = await startRedis(t, executable, { args: ['--maxmemory', '100mb', '--maxmemory-policy', 'volatile-lru'] })
  const certificate = writeCertificate(tempDir(t), 'a', { commonName: 'blog.test', hosts: ['blog.test', 'shop.test'] })
  const where = place(t, redis.url, certificate)
  await writeUnits(where)
  const { code, findings } = await doctor(t, where)
  // Nothing serves: the units of systemd are ours.
  const [server, ...others] = faults(findings)
  assert.deepEqual([server?.check, server?.status, others], ['server', 'unknown', []])
  assert.equal(code, 0)
  assert.deepEqual(named(findings, 'redis', /may read, write/).status, 'ok')
  assert.match(named(findings, 'units', /^svc-shop/).message, /active/)
  assert.match(named(findings, 'units', /^svc\.socket/).message, /active, on all addresses/)
})

test('each of several faults is named with the command that mends it', async (t) => {
  const executable = requireProgram(t, 'redis-server')
  if (executable === undefined) return
  const redis = await startRedis(t, executable, { args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] })
  const validity = { from: new Date('2020-01-01'), to: new Date('2021-01-01') }
  const certificate = writeCertificate(tempDir(t), 'a', { commonName: 'blog.test', hosts: ['blog.test'], validity })
  const where = place(t, redis.url, certificate)
  Object.assign(where.units['svc-shop.service'] ?? {}, { ActiveState: 'inactive' })
  Object.assign(where.units['svc.service'] ?? {}, { UnitFileState: 'disabled' })
  Object.assign(where.units['svc.socket'] ?? {}, { ActiveState: 'failed' })
  await writeUnits(where)
  writeFileSync(join(where.dir, 'svc.service'), 'User=root\nExecStart=/opt/old/bin/node /opt/old/dist/cli.js serve\n')
  writeFileSync(join(where.dir, 'svc.socket'), '[Socket]\nListenStream=127.0.0.1:8080\nListenStream=8081\n')
  chmodSync(join(where.dir, 'state'), 0o755)
  chmodSync(join(where.dir, 'run'), 0o777)
  const { code, findings } = await doctor(t, where, ['prlimit', '--nofile=300:300'])
  assert.equal(code, 78)
  const expected: readonly [check: string, status: string, message: RegExp, remedy: RegExp][] = [
    ['open files', 'problem', /^300 per process: .* leave \d+ connections/, /LimitNOFILE=524288/],
    ['directories', 'warning', /state directory \S+ has mode 0755/, /^chmod 0700 \S+\/state$/],
    ['directories', 'problem', /run directory \S+ has mode 0777/, /^chmod 0700 \S+\/run$/],
    ['certificates', 'problem', /a\.crt expired on 2021-01-01/, /into \S+a\.crt .* reload --config/],
    ['certificates', 'warning', /does not cover shop\.test/, /order a certificate/],
    ['redis', 'problem', /maxmemory-policy is allkeys-lru/, /CONFIG SET maxmemory-policy volatile-lru/],
    ['units', 'problem', /^svc-shop\.service is inactive/, /^systemctl start svc-shop\.service$/],
    ['units', 'warning', /^svc\.service does not start with the machine/, /^systemctl enable svc\.service$/],
    [
      'units',
      'warning',
      /^svc\.socket is failed: clients are refused/,
      /^journalctl -u svc\.socket .*systemctl restart svc\.socket/,
    ],
    [
      'units',
      'problem',
      /^svc\.socket listens on \[::\]:8081, .* will not start$/,
      /svc systemd --socket --config \S+ > \S+svc\.socket/,
    ],
    [
      'units',
      'warning',
      /^svc\.socket does not listen on 127\.0\.0\.1:8443/,
      /systemctl daemon-reload && systemctl stop svc\.service/,
    ],
    ['units', 'warning', /svc\.service is not what/, /svc systemd --config \S+ > \S+svc\.service && systemctl daemon-reload/],
  ]
  for (const [check, status, message, remedy] of expected) {
    const found = named(findings, check, message)
    assert.equal(found.status, status)
    assert.match(found.remedy ?? '', remedy)
  }
})

test('a directory of another user or on two file systems, and a full one, are named with their commands', async (t) => {
  if (!requireRoot(t) || !requireNetworkNamespace(t)) return
  const certificate = writeCertificate(tempDir(t), 'a', { commonName: 'blog.test', hosts: ['blog.test', 'shop.test'] })
  const where = place(t, 'redis://127.0.0.1:1', certificate)
  chownSync(join(where.dir, 'state'), 65_534, 65_534)
  const fill =
    'mount -t tmpfs -o size=1m,mode=700 tmpfs "$0" && mkdir "$0/isr" && mount -t tmpfs tmpfs "$0/isr" && { head -c 2000000 /dev/zero > "$0/full" 2>/dev/null || :; } && exec "$@"'
  // Another user takes the owner of the run directory for that of the server, and gives no advice to change it.
  for (const path of [where.dir, dirname(certificate.key), certificate.key]) chmodSync(path, 0o755)
  const other = await doctor(t, where, ['setpriv', '--reuid', '65534', '--clear-groups'])
  assert.match(named(other.findings, 'directories', /cache directory \S+: run this as root/).status, /unknown/)
  assert.match(named(other.findings, 'server', /may not reach/).remedy ?? '', /^sudo /)
  const { findings } = await doctor(t, where, ['unshare', '--mount', 'sh', '-c', fill, join(where.dir, 'cache')])
  const owner = named(findings, 'directories', /state directory \S+ belongs to user 65534/)
  assert.equal(owner.status, 'problem')
  assert.match(owner.remedy ?? '', /^chown -R root: \S+\/state$/)
  const part = named(findings, 'directories', /cache\/isr is on another file system than \S+\/cache: files cannot be moved/)
  assert.equal(part.status, 'problem')
  assert.match(part.remedy ?? '', /^umount \S+\/cache\/isr, /)
  const disk = named(findings, 'disk', /cache: 0\.0 % of the space is free/)
  assert.equal(disk.status, 'problem')
  assert.match(disk.remedy ?? '', /^du -x /)
})

test('a configuration that every user may change, and secrets that every user may read, are named', async (t) => {
  const dir = tempDir(t)
  const config = join(dir, 'svc.config.toml')
  writeFiles(dir, {
    'svc.config.toml': `[server]\nlisten = "127.0.0.1:8080"\nrun_dir = "run"\nstate_dir = "state"\n[admin]\njwt_secret = "file:secret"\n`,
    secret: 'x'.repeat(32),
  })
  chmodSync(config, 0o666)
  chmodSync(join(dir, 'secret'), 0o644)
  const { findings } = await doctor(t, { config, env: {} })
  assert.equal(named(findings, 'configuration', /svc\.config\.toml has mode 0666: every user/).status, 'warning')
  assert.match(named(findings, 'configuration', /secret holds secrets, and every user/).remedy ?? '', /^chmod o-rwx \S+secret$/)
  chmodSync(config, 0o644)
  chmodSync(join(dir, 'secret'), 0o600)
  const { findings: mended } = await doctor(t, { config, env: {} })
  assert.deepEqual(
    mended.filter(({ check, status }) => check === 'configuration' && status !== 'ok'),
    [],
  )
})

test('an invalid configuration and a Redis that is away are problems, and no password is printed', async (t) => {
  const certificate = writeCertificate(tempDir(t), 'a', { commonName: 'blog.test', hosts: ['blog.test', 'shop.test'] })
  const where = place(t, `redis://user:${PASSWORD}@127.0.0.1:1/2`, certificate)
  const away = await doctor(t, where)
  const redis = named(away.findings, 'redis', /cannot use redis:\/\/127\.0\.0\.1:1/)
  assert.deepEqual([away.code, redis.status, away.stdout.includes(PASSWORD)], [78, 'problem', false])
  writeFileSync(where.config, '[server]\nlisten = 5\n[cahce]\n')
  const { code, findings } = await doctor(t, where)
  assert.equal(code, 78)
  for (const message of [/:2:\d+: /, /cahce/]) {
    const found = named(findings, 'configuration', message)
    assert.equal(found.status, 'problem')
    assert.match(found.remedy ?? '', /config check --config/)
  }
  for (const check of ['directories', 'disk', 'certificates', 'redis']) {
    assert.equal(named(findings, check, /not valid/).status, 'unknown')
  }
})

test('a running server is asked: its failed reload, absent site process and other version are named', async (t) => {
  const certificate = writeCertificate(tempDir(t), 'a', { commonName: 'blog.test', hosts: ['blog.test', 'shop.test'] })
  const where = place(t, 'redis://127.0.0.1:1', certificate)
  const site = { label: 'shop', hostnames: ['shop.test'], root: '/srv', process: 'own', state: 'degraded' }
  const status: StatusReport = {
    pid: process.pid,
    version: '0.0.1',
    generation: 3,
    uptime_secs: 5,
    listen: ['http://127.0.0.1:1'],
    workers: [{ id: 1, pid: 2, state: 'starting', generation: 3, connections: 0 }],
    hosts: [],
    sites: [{ id: 'shop', ...site }],
    last_reload: { at: '2026-01-01T00:00:00Z', ok: false, errors: ['a.toml:1:1: wrong'] },
  }
  await scriptMaster(t, join(where.dir, 'run/control.sock'), { status: () => status })
  const { findings } = await doctor(t, where)
  const expected: readonly [status: string, message: RegExp, remedy: RegExp][] = [
    ['problem', /last reload failed.*a\.toml:1:1: wrong/, /config check .*&& .*reload/],
    ['problem', /no process serves the site shop/, /systemctl start svc-shop\.service/],
    ['warning', /runs version 0\.0\.1/, /systemctl restart svc\.service/],
    ['warning', /1 of 1 workers are not ready/, /journalctl/],
  ]
  for (const [verdict, message, remedy] of expected) {
    const found = named(findings, 'server', message)
    assert.equal(found.status, verdict)
    assert.match(found.remedy ?? '', remedy)
  }
})

test('a check that fails or does not end in time is unknown, and the others are reported', async () => {
  const checks: Check[] = [
    { name: 'slow', run: () => new Promise(() => undefined) },
    { name: 'broken', run: () => Promise.reject(new Error('no such thing')) },
    { name: 'sound', run: async () => [{ status: 'ok', message: 'fine' }] },
  ]
  const shown: (readonly string[])[] = []
  const { findings, isDone } = await examine({} as Subject, checks, 20, (names) => shown.push(names))
  assert.deepEqual(
    findings.map(({ check, status }) => [check, status]),
    [
      ['slow', 'unknown'],
      ['broken', 'unknown'],
      ['sound', 'ok'],
    ],
  )
  assert.match(findings[1]?.message ?? '', /no such thing/)
  assert.deepEqual([isDone, shown[0], shown.at(-1)], [false, ['slow', 'broken', 'sound'], ['slow']])
})

test('settings of the kernel that lose connections are named with the sysctl that changes them', async () => {
  const verdicts = async (somaxconn: string, migrate: string | undefined) => {
    const read = async (path: string) => (path.endsWith('somaxconn') ? somaxconn : migrate)
    const machine = { read, run: async () => undefined }
    return await networkCheck.run({ machine, loaded: undefined } as unknown as Subject)
  }
  assert.deepEqual(
    (await verdicts('4096\n', '1\n')).map(({ status }) => status),
    ['ok', 'ok'],
  )
  const [queue, migration] = await verdicts('128\n', '0\n')
  assert.match(queue?.remedy ?? '', /^sysctl -w net\.core\.somaxconn='4096'/)
  assert.match(migration?.remedy ?? '', /^sysctl -w net\.ipv4\.tcp_migrate_req='1'/)
  assert.deepEqual((await verdicts('4096\n', undefined))[1]?.status, 'warning')
})

test('files that do not answer end the examination in time, with all that it has found', { timeout: 60_000 }, async (t) => {
  const config = join(tempDir(t), 'svc.config.toml')
  execFileSync('mkfifo', [config])
  const child = new Child(t, svcCommand, ['doctor', '--json', '--config', config], { cwd: '/' })
  // An ordinary end would wait for the files.
  assert.deepEqual(await child.exited, { code: null, signal: 'SIGKILL' })
  const { findings } = JSON.parse(child.stdout) as { findings: Finding[] }
  assert.equal(named(findings, 'configuration', /reading the configuration took longer/).status, 'unknown')
  assert.ok(findings.some(({ check }) => check === 'versions'))
})
