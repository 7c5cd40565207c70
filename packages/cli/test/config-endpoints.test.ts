import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { allEndpoints, endpointGroups, listEndpoints } from '@svc/admin'
import { type Cleanup, tempDir, writeFiles } from '@svc/testkit'
import { type Outcome, runSvc } from './run-svc.ts'

const site = '[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\n'

/** Writes a configuration and runs `svc config endpoints` with it. */
function endpoints(t: Cleanup, toml: string, ...args: readonly string[]): Promise<Outcome> {
  const dir = tempDir(t)
  writeFiles(dir, { 'svc.config.toml': `${toml}\n${site}`, 'site/app/page.tsx': '' })
  return runSvc(['config', 'endpoints', ...args], { cwd: dir })
}

/** The lines of each group in a list, by its heading. */
function sections(text: string): Record<string, string[]> {
  const blocks = text.trimEnd().split('\n\n')
  return Object.fromEntries(blocks.map((block) => block.split('\n')).map(([heading = '', ...lines]) => [heading, lines]))
}

test('config endpoints list shows every endpoint below its group', async (t) => {
  const { code, stdout, stderr } = await endpoints(t, '[endpoints]\nadmin = true\n', 'list')
  assert.deepEqual([code, stderr], [0, ''])
  const shown = Object.entries(sections(stdout)).map(([heading, lines]) => [
    heading,
    lines.map((line) => line.trim().split(/ +/).join(' ')).toSorted(),
  ])
  const all = listEndpoints(allEndpoints)
  const pathsOf = (group: string) => all.filter((one) => one.group === group).map(({ method, path }) => `${method} ${path}`)
  const expected = endpointGroups.map((group) => [`${group} [enabled]`, pathsOf(group).toSorted()] as const)
  assert.deepEqual(
    shown,
    expected.filter(([, paths]) => paths.length > 0),
  )
})

test('config endpoints list marks a disabled group, and hides its endpoints and those of a disabled probe', async (t) => {
  const toml = '[endpoints]\napi = false\n[health]\nenabled = false\npath = "/up"\n[metrics]\npath = "/__svc/m"\n'
  const { code, stdout } = await endpoints(t, toml, 'list')
  assert.equal(code, 0)
  const groups = sections(stdout)
  const api = groups['api [disabled]'] ?? []
  assert.ok(api.length > 0 && api.every((line) => line.endsWith('  (hidden)')), stdout)
  assert.deepEqual(groups['health [enabled]']?.toSorted(), [
    '  GET     /__svc/health  (hidden)',
    '  GET     /health',
    '  GET     /up  (hidden)',
  ])
  assert.deepEqual(groups['metrics [enabled]']?.toSorted(), ['  GET     /__svc/m', '  GET     /metrics'])
})

test('config endpoints list --json gives one object for each endpoint', async (t) => {
  const { code, stdout, stderr } = await endpoints(t, '[endpoints]\nmetrics = false\nadmin = true\n', 'list', '--json')
  assert.deepEqual([code, stderr], [0, ''])
  const all: readonly Record<string, unknown>[] = JSON.parse(stdout)
  assert.deepEqual(
    all.find(({ path }) => path === '/metrics'),
    { method: 'GET', path: '/metrics', group: 'metrics', access: 'open', enabled: false },
  )
  const disabled = all.filter(({ enabled }) => enabled === false).map(({ path }) => path)
  assert.deepEqual(disabled.toSorted(), ['/__svc/metrics', '/metrics'])
})

test('config endpoints show has a line for each group', async (t) => {
  const { code, stdout, stderr } = await endpoints(t, '[endpoints]\nobs = false\n', 'show')
  assert.deepEqual([code, stderr], [0, ''])
  assert.deepEqual(stdout.split('\n'), [
    'health   on   (endpoints.health)',
    'metrics  on   (endpoints.metrics)',
    'cache    on   (always on)',
    'debug    on   (always on)',
    'api      on   (endpoints.api)',
    'obs      off  (endpoints.obs)',
    'admin    off  (follows [admin].enabled unless endpoints.admin is set)',
    '',
  ])
})

test('config endpoints list and show refuse a wrong configuration like config check', async (t) => {
  for (const command of ['list', 'show']) {
    const { code, stdout, stderr } = await endpoints(t, '[endpoints]\ncache = false\n', command)
    assert.deepEqual([code, stdout], [78, ''])
    assert.match(stderr, /endpoints\.cache: unknown key/)
  }
})

test('config endpoints disable prints lines that disable the group, and changes no file', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, { 'svc.config.toml': site, 'site/app/page.tsx': '' })
  const { code, stdout, stderr } = await runSvc(['config', 'endpoints', 'disable', 'obs'], { cwd: dir })
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /restart/)
  assert.match(stdout, /^\[endpoints\]\nobs = false\n$/m)
  assert.equal(readFileSync(join(dir, 'svc.config.toml'), 'utf8'), site)
  // The output can be appended as it is.
  writeFiles(dir, { 'svc.config.toml': `${site}${stdout}` })
  const shown = await runSvc(['config', 'endpoints', 'show'], { cwd: dir })
  assert.match(shown.stdout, /^obs +off /m)
})
