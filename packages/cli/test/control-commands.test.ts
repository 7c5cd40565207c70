// Runs alone: it starts the command very often.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { AppError } from '@svc/core'
import type { ReloadReport, StatusReport } from '@svc/protocol'
import { tempDir, writeFiles } from '@svc/testkit'
import { runSvc } from './run-svc.ts'
import { scriptMaster } from './scripted-master.ts'

const status: StatusReport = {
  pid: 42,
  version: '1.2.3',
  generation: 7,
  uptime_secs: 61.4,
  listen: ['http://127.0.0.1:8080'],
  workers: [{ id: 1, pid: 43, state: 'ready', generation: 7, connections: 5 }],
  hosts: [{ id: 'h1', pid: 44, state: 'ready', sites: ['a'] }],
  sites: [{ id: 'a', label: 'a', hostnames: ['a.org', '*.a.org'], root: '/srv/a', process: 'in-process', state: 'ok' }],
  last_reload: null,
}
const reloaded: ReloadReport = {
  ok: true,
  generation: 8,
  changed: { added: 1, removed: 0, changed: 2 },
  needs_restart: ['server.workers'],
  errors: [],
  took_ms: 12.4,
}

function instance(t: Parameters<typeof tempDir>[0]): string {
  const dir = tempDir(t)
  writeFiles(dir, {
    'svc.config.toml': '[server]\nrun_dir = "run"\n[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\n',
    'site/app/page.tsx': '',
  })
  return dir
}

test('without a server every command that needs one exits 69 and says where it looked', async (t) => {
  const dir = instance(t)
  const outcomes = await Promise.all(['status', 'sites', 'reload', 'stop'].map((command) => runSvc([command], { cwd: dir })))
  for (const outcome of outcomes) {
    assert.deepEqual(outcome, { code: 69, stdout: '', stderr: `svc: no server is running (${dir}/run/control.sock)\n` })
  }
})

test('without any config file the server cannot be found; a named one that is missing is a mistake', async (t) => {
  const cwd = tempDir(t)
  const [nothing, named] = await Promise.all([runSvc(['status'], { cwd }), runSvc(['status', '--config', 'gone.toml'], { cwd })])
  assert.equal(nothing.code, 69)
  assert.match(nothing.stderr, /no server found: there is no config file/)
  assert.equal(named.code, 78)
  assert.match(named.stderr, /gone\.toml: no such file/)
})

test('a server of another protocol version is not talked to', async (t) => {
  const dir = instance(t)
  await scriptMaster(t, `${dir}/run/control.sock`, { status: () => status }, 999)
  const { code, stderr } = await runSvc(['status'], { cwd: dir })
  assert.equal(code, 69)
  assert.match(stderr, /^svc: .*(protocol|gone)/)
  assert.doesNotMatch(stderr, /\n\s+at /)
})

test('status and sites show what the server says, as text and as JSON', async (t) => {
  const dir = instance(t)
  await scriptMaster(t, `${dir}/run/control.sock`, { status: () => status, sites: () => ({ sites: [...status.sites] }) })
  const [text, json, sites, sitesJson] = await Promise.all(
    [['status'], ['status', '--json'], ['sites'], ['sites', '--json']].map((args) => runSvc(args, { cwd: dir })),
  )
  assert.deepEqual([text?.code, json?.code, sites?.code, sitesJson?.code], [0, 0, 0, 0])
  assert.match(text?.stdout ?? '', /^svc 1\.2\.3, pid 42, generation 7, up 61 s\nlistening on http:\/\/127\.0\.0\.1:8080\n/)
  assert.match(text?.stdout ?? '', /^1 {7}43 {3}ready {2}7 {11}5$/m)
  assert.deepEqual(JSON.parse(json?.stdout ?? ''), status)
  assert.match(sites?.stdout ?? '', /^a {3}a {6}ok {5}in-process {2}a\.org \*\.a\.org {2}\/srv\/a$/m)
  assert.deepEqual(JSON.parse(sitesJson?.stdout ?? ''), status.sites)
})

test('a server of a platform file alone is found by that file, and by no other', async (t) => {
  const dir = instance(t)
  const app = '[[apps]]\nname = "b"\nhostname = "b.org"\nsource = "site"\n'
  writeFiles(dir, { 'p/platform.toml': `[server]\nrun_dir = "own"\n${app}`, 'p/more.toml': app })
  await scriptMaster(t, `${dir}/p/own/control.sock`, { status: () => status })
  const outcomes = await Promise.all([
    runSvc(['status', '--platform', 'p/platform.toml'], { cwd: dir }),
    runSvc(['status', '--config', 'p/platform.toml'], { cwd: dir }),
    runSvc(['status', '--config', 'svc.config.toml', '--platform', 'p/more.toml'], { cwd: dir }),
    runSvc(['status', '--platform', 'p/platform.toml', '--dir', '.'], { cwd: dir }),
  ])
  assert.deepEqual(
    outcomes.map(({ code }) => code),
    [0, 0, 69, 64],
  )
})

test('reload prints what changed, and what needs a restart beside it', async (t) => {
  const dir = instance(t)
  await scriptMaster(t, `${dir}/run/control.sock`, { reload: () => reloaded })
  assert.deepEqual(await runSvc(['reload'], { cwd: dir }), {
    code: 0,
    stdout: 'generation 8: sites: 1 added, 2 changed (12 ms)\n',
    stderr: 'needs a restart to take effect: server.workers\n',
  })
})

test('a reload that fails exits 78 and prints every error, and is possible while the file is wrong', async (t) => {
  const dir = instance(t)
  const errors = ['a.toml:1:1: x: unknown key', 'a.toml:2:1: y: unknown key']
  await scriptMaster(t, `${dir}/run/control.sock`, { reload: () => ({ ...reloaded, ok: false, generation: 7, errors }) })
  writeFiles(dir, { 'svc.config.toml': '[server]\nrun_dir = "run"\nnonsense = 1\n' })
  assert.deepEqual(await runSvc(['reload'], { cwd: dir }), {
    code: 78,
    stdout: '',
    stderr: `${errors.join('\n')}\nsvc: reload failed: generation 7 is still served\n`,
  })
})

test('stop waits until the process has ended, and says 75 when it does not', async (t) => {
  const dir = instance(t)
  const patient = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e9)'], { stdio: 'ignore' })
  t.after(() => patient.kill('SIGKILL'))
  const pid = patient.pid ?? 0
  let isEnding = false
  await scriptMaster(t, `${dir}/run/control.sock`, {
    stop: () => {
      if (isEnding) patient.kill('SIGKILL')
      return { pid }
    },
  })
  assert.deepEqual(await runSvc(['stop', '--timeout', '0'], { cwd: dir }), {
    code: 0,
    stdout: `stopping ${pid}\n`,
    stderr: '',
  })
  const late = await runSvc(['stop', '--timeout', '0.1'], { cwd: dir })
  assert.deepEqual([late.code, late.stderr], [75, `svc: ${pid} is still draining after 0.1 s\n`])
  isEnding = true
  const [stopped] = await Promise.all([runSvc(['stop'], { cwd: dir }), once(patient, 'exit')])
  assert.deepEqual(stopped, { code: 0, stdout: `stopped ${pid}\n`, stderr: '' })
})

test('routes come from the running server, and an unknown site is a usage error', async (t) => {
  const dir = instance(t)
  await scriptMaster(t, `${dir}/run/control.sock`, {
    routes: ({ site }) => {
      if (site !== 'a') throw new AppError('SUP_UNKNOWN_SITE', `no site "${site}"; there are: a`)
      return { routes: [{ pattern: '/live', kind: 'page', file: '/srv/a/app/live/page.tsx' }], problems: ['x.tsx: odd'] }
    },
  })
  const [known, unknown] = await Promise.all([runSvc(['routes', 'a'], { cwd: dir }), runSvc(['routes', 'b'], { cwd: dir })])
  assert.deepEqual(known, {
    code: 0,
    stdout: 'PATTERN  KIND  FILE\n/live    page  /srv/a/app/live/page.tsx\n',
    stderr: 'x.tsx: odd\n',
  })
  assert.equal(unknown.code, 64)
  assert.match(unknown.stderr, /no site "b"; there are: a/)
})

test('the end of an override that there is not is a usage error, and one that cannot be served a configuration error', async (t) => {
  const dir = instance(t)
  await scriptMaster(t, `${dir}/run/control.sock`, {
    resetOverride: ({ key }) => {
      if (key === 'sites.b.release') throw new AppError('SUP_OVERRIDE', `the change of ${key} failed: no directory /srv/b`)
      throw new AppError('SUP_NO_OVERRIDE', `${key} is not overridden; overridden: sites.b.release`)
    },
  })
  const [unknown, failed] = await Promise.all([
    runSvc(['config', 'reset', 'sites.a.release'], { cwd: dir }),
    runSvc(['config', 'reset', 'sites.b.release'], { cwd: dir }),
  ])
  assert.equal(unknown.code, 64)
  assert.match(unknown.stderr, /^svc: sites\.a\.release is not overridden; overridden: sites\.b\.release$/m)
  assert.deepEqual(failed, {
    code: 78,
    stdout: '',
    stderr: 'svc: the change of sites.b.release failed: no directory /srv/b\n',
  })
})

test('without a server routes are read from the files, of a config file or a site directory', async (t) => {
  const dir = instance(t)
  const [configured, standalone, mistyped] = await Promise.all([
    runSvc(['routes', 'a', '--json'], { cwd: dir }),
    runSvc(['routes', 'default', '--dir', 'site'], { cwd: dir }),
    runSvc(['routes', 'aa'], { cwd: dir }),
  ])
  assert.deepEqual(JSON.parse(configured.stdout), {
    routes: [{ pattern: '/', kind: 'page', file: `${dir}/site/app/page.tsx` }],
    problems: [],
  })
  assert.equal(standalone.stdout, `PATTERN  KIND  FILE\n/        page  ${dir}/site/app/page.tsx\n`)
  assert.equal(mistyped.code, 64)
  assert.match(mistyped.stderr, /no site "aa"; did you mean "a"\?/)
})

test('names of files and sites that hold control characters do not reach the terminal; JSON has them as they are', async (t) => {
  const dir = instance(t)
  const evil = 'a\u001b[2J\n\u009bb'
  const escaped = 'a\\u001b[2J\\u000a\\u009bb'
  const route = { pattern: `/${evil}`, kind: 'page' as const, file: `/srv/${evil}` }
  await scriptMaster(t, `${dir}/run/control.sock`, {
    routes: () => ({ routes: [route], problems: [`problem of ${evil}`] }),
    sites: () => ({ sites: [{ ...status.sites[0]!, label: evil }] }),
  })
  const [routes, sites, asJson] = await Promise.all([
    runSvc(['routes', 'a'], { cwd: dir }),
    runSvc(['sites'], { cwd: dir }),
    runSvc(['routes', 'a', '--json'], { cwd: dir }),
  ])
  assert.equal(routes.stdout.split('\n')[1], `/${escaped}  page  /srv/${escaped}`)
  assert.equal(routes.stderr, `problem of ${escaped}\n`)
  assert.ok(sites.stdout.includes(` ${escaped} `), sites.stdout)
  assert.deepEqual(JSON.parse(asJson.stdout).routes, [route])
})
