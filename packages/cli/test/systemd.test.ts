import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { Child, repositoryRoot, tempDir, writeFiles } from '@svc/testkit'
import { socketUnitFile } from '../src/commands/socket-unit-file.ts'
import { runSvc } from './run-svc.ts'

/** Tenths of the score of systemd-analyze. */
const MOST_EXPOSURE = 25

/** A configuration with two sites, one of them with a process of its own. */
function configured(t: Parameters<typeof tempDir>[0], server = ''): string {
  const dir = tempDir(t)
  const site = (id: string, mode: string) =>
    `[[sites]]\nid = "${id}"\nhostnames = ["${id}.test"]\nroot = "site"\nprocess = "${mode}"\n`
  const text = `[server]\nstate_dir = "/var/lib/svc"\nrun_dir = "/run/svc"\n${server}\n[cache]\ndir = "/srv/50% cache"\n[logging]\naccess_file = "/srv/logs/access.log"\n\n`
  writeFiles(dir, {
    'svc.config.toml': text + site('shop', 'own') + site('blog', 'in-process'),
    'site/app/page.tsx': 'export default () => null\n',
  })
  return join(dir, 'svc.config.toml')
}

test('a unit of a site that has no process of its own is refused, naming those that have', async (t) => {
  const config = configured(t)
  for (const site of ['blog', 'nobody']) {
    const { code, stdout, stderr } = await runSvc(['systemd', '--site', site, '--config', config])
    assert.deepEqual([code, stdout], [64, ''])
    assert.match(stderr, /with process = "own"; there are: shop/)
  }
  assert.equal((await runSvc(['systemd', '--config', '/nowhere.toml'])).code, 78)
})

test('a run directory in /tmp, of which a unit has one of its own, is refused with another place', async (t) => {
  const config = configured(t)
  writeFileSync(config, readFileSync(config, 'utf8').replace('run_dir = "/run/svc"', 'run_dir = "/tmp/svc-7"'))
  const { code, stdout, stderr } = await runSvc(['systemd', '--config', config])
  assert.deepEqual([code, stdout], [64, ''])
  assert.match(stderr, /set server\.run_dir to another place than \/tmp\/svc-7, e\.g\. \/run\/svc/)
})

test('the unit of a site knows the run directory and not the configuration', async (t) => {
  const config = configured(t)
  const { stdout } = await runSvc(['systemd', '--site', 'shop', '--config', config])
  assert.match(stdout, /^ExecStart=\S+\/bin\/node \S+\/dist\/cli\.js serve --site shop$/m)
  assert.match(stdout, /^Environment=SVC_SERVER__RUN_DIR=\/run\/svc$/m)
  assert.match(stdout, new RegExp(`^InaccessiblePaths=-${config}$`, 'm'))
  assert.match(stdout, /^ReadWritePaths="\/srv\/50%% cache"$/m)
})

test('the server may write its log files, and a site none', async (t) => {
  const config = configured(t)
  const { stdout: server } = await runSvc(['systemd', '--config', config])
  assert.match(server, /^LogsDirectory=svc\nReadWritePaths=\/srv\/logs$/m)
  const { stdout: site } = await runSvc(['systemd', '--site', 'shop', '--config', config])
  assert.doesNotMatch(site, /LogsDirectory|\/srv\/logs/)
})

test('the unit of a server with a platform file beside its config file names both', async (t) => {
  const config = configured(t)
  const platform = join(dirname(config), 'platform.toml')
  writeFileSync(platform, '[[apps]]\nname = "docs"\nhostname = "docs.test"\nsource = "site"\n')
  const beside = await runSvc(['systemd', '--config', config, '--platform', platform])
  assert.match(beside.stdout, new RegExp(`^ExecStart=.* serve --config ${config} --platform ${platform}$`, 'm'))
  const run = { SVC_SERVER__RUN_DIR: '/run/svc' }
  const alone = await runSvc(['systemd', '--platform', platform], { env: run })
  assert.match(alone.stdout, new RegExp(`^ExecStart=.* serve --config ${platform}$`, 'm'))
})

test('systemd finds nothing wrong with the units, and little that they may do beyond their work', async (t) => {
  const config = configured(t)
  for (const site of [undefined, 'shop']) {
    const args = site === undefined ? [] : ['--site', site]
    const { code, stdout, stderr } = await runSvc(['systemd', ...args, '--config', config])
    assert.equal(code, 0, stderr)
    for (const line of [
      'Type=notify',
      'NoNewPrivileges=yes',
      'ProtectSystem=strict',
      'RuntimeDirectory=svc',
      'StateDirectory=svc',
    ])
      assert.ok(stdout.split('\n').includes(line), line)
    assert.doesNotMatch(stdout, /MemoryDenyWriteExecute/)
    const dir = tempDir(t)
    const file = join(dir, site === undefined ? 'svc.service' : `svc-${site}.service`)
    writeFileSync(file, stdout)
    const check = new Child(t, 'systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', file])
    const exit = await check.exited
    if (exit.code === null && check.stderr.includes('ENOENT')) {
      t.skip('needs systemd-analyze of the Debian package systemd')
      return
    }
    assert.deepEqual([exit.code, check.stderr], [0, ''])
    const exposure = new Child(t, 'systemd-analyze', ['security', '--offline=true', `--threshold=${MOST_EXPOSURE}`, file])
    assert.equal((await exposure.exited).code, 0, exposure.stdout)
  }
})

test('the socket unit has the TCP addresses, and one without any is refused', async (t) => {
  const config = configured(t, 'listen = "0.0.0.0:80"\n')
  const { stdout } = await runSvc(['systemd', '--socket', '--config', config])
  assert.match(stdout, /^ListenStream=0\.0\.0\.0:80\nBindIPv6Only=both$/m)
  const file = join(tempDir(t), 'svc.socket')
  writeFileSync(file, stdout)
  writeFileSync(file.replace('.socket', '.service'), (await runSvc(['systemd', '--config', config])).stdout)
  const check = new Child(t, 'systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', file])
  const { code } = await check.exited
  if (code !== null) assert.deepEqual([code, check.stderr], [0, ''])
  const refused = await runSvc(['systemd', '--socket', '--config', configured(t, 'listen = "127.0.0.1:0"\n')])
  assert.deepEqual([refused.code, refused.stdout], [64, ''])
  assert.match(refused.stderr, /needs a listen address of TCP with a port other than 0/)
})

test('sockets on both wildcards of a port do not get in the way of each other', async () => {
  const names = ['0.0.0.0:80', '[::]:80', 'localhost:81', 'unix:/run/a.sock', '127.0.0.1:0']
  const text = (await socketUnitFile(names.map((name) => ({ name, isTls: false })))) ?? ''
  assert.deepEqual(
    text.split('\n').filter((line) => /^(?:Listen|Bind)/.test(line)),
    ['ListenStream=0.0.0.0:80', 'ListenStream=[::]:80', 'ListenStream=127.0.0.1:81', 'BindIPv6Only=ipv6-only'],
  )
})

test('the units of the repository are what is printed for an installation of its own', async (t) => {
  const dir = tempDir(t)
  const config = join(dir, 'svc.config.toml')
  const places = '[server]\nstate_dir = "/var/lib/svc"\nrun_dir = "/run/svc"\n[cache]\ndir = "/var/cache/svc"\n'
  const site = '[[sites]]\nid = "the-site"\nhostnames = ["a.test"]\nroot = "site"\nprocess = "own"\n'
  writeFiles(dir, { 'svc.config.toml': places + site, 'site/app/page.tsx': 'export default () => null\n' })
  for (const [file, args] of Object.entries({
    'svc.service': [],
    'svc.socket': ['--socket'],
    'svc-site.service.in': ['--site', 'the-site'],
  })) {
    const { code, stdout, stderr } = await runSvc(['systemd', ...args, '--config', config])
    assert.equal(code, 0, stderr)
    const text = stdout
      .replaceAll(config, '/etc/svc/svc.config.toml')
      .replaceAll(repositoryRoot, '/opt/svc/current')
      .replaceAll('the-site', '@SITE@')
    assert.equal(readFileSync(join(repositoryRoot, 'systemd', file), 'utf8'), text, 'run bin/node scripts/generate-units.mjs')
  }
})
