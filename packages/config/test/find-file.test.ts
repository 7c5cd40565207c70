import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { test } from 'node:test'
import { candidateFiles, findRunDirectory, loadConfig, socketDirectory } from '../src/index.ts'
import { configDir, problemLines } from './load-text.ts'

const uid = process.getuid?.() ?? 0
const base = { env: {}, cwd: '/srv/here', isRoot: false }

test('a named file comes before SVC_CONFIG, and SVC_CONFIG before the default places', () => {
  const env = { SVC_CONFIG: 'from-env.toml' }
  assert.deepEqual(candidateFiles({ ...base, env, file: '../asked.toml' }), ['/srv/asked.toml'])
  assert.deepEqual(candidateFiles({ ...base, env, platform: 'platform.toml' }), ['/srv/here/platform.toml'])
  assert.deepEqual(candidateFiles({ ...base, env }), ['/srv/here/from-env.toml'])
  assert.deepEqual(candidateFiles({ ...base, env: { SVC_CONFIG: '' } }), [
    '/srv/here/svc.config.toml',
    '/etc/svc/svc.config.toml',
  ])
})

test('a missing file that was named is a problem; so is finding none at all', async (t) => {
  const dir = configDir(t, {})
  assert.deepEqual(problemLines(dir, await loadConfig({ ...base, cwd: dir, file: 'gone.toml' })), ['gone.toml: no such file'])
  assert.deepEqual(problemLines(dir, await loadConfig({ ...base, cwd: dir, env: { SVC_CONFIG: 'gone' } })), [
    'gone: no such file',
  ])
  assert.deepEqual(problemLines(dir, await loadConfig({ ...base, cwd: dir })), [
    'svc.config.toml, /etc/svc/svc.config.toml: no configuration file found (name one with --config, or serve a single site with "svc serve <dir>")',
  ])
  assert.deepEqual(problemLines(dir, await loadConfig({ ...base, cwd: dir, file: 'site' })), ['site: is a directory, not a file'])
})

test('the run directory is found although the file has other problems', async (t) => {
  const dir = configDir(t, { 'svc.config.toml': '[server]\nrun_dir = "run"\nworkers = "many"\n[[sites]]\nroot = "gone"\n' })
  assert.deepEqual(await findRunDirectory({ ...base, cwd: dir }), { ok: true, dir: `${dir}/run` })
  const env = { SVC_SERVER__RUN_DIR: '/elsewhere' }
  assert.deepEqual(await findRunDirectory({ ...base, cwd: dir, env }), { ok: true, dir: '/elsewhere' })
})

test('the run directory is found in a file whose syntax is broken further down', async (t) => {
  const dir = configDir(t, {
    'late.toml': '[server]\nrun_dir = "run"\n\n[[sites]]\nid = \nroot = "a"\n',
  })
  assert.deepEqual(await findRunDirectory({ ...base, cwd: dir, file: 'late.toml' }), { ok: true, dir: `${dir}/run` })
  assert.equal((await findRunDirectory({ ...base, cwd: dir, file: 'gone.toml' })).ok, false)
})

test('without a config file the run directory is that of a standalone site in the current directory', async (t) => {
  const dir = configDir(t, {})
  const before = await findRunDirectory({ ...base, cwd: dir, isRoot: true })
  assert.equal(before.ok, false)
  mkdirSync(`${dir}/.svc`)
  assert.deepEqual(await findRunDirectory({ ...base, cwd: dir, isRoot: true }), {
    ok: true,
    dir: socketDirectory(`${dir}/.svc`, uid),
  })
})

test('a symbolic link leads to the run directory of the site that it names', async (t) => {
  const dir = configDir(t, {})
  symlinkSync(`${dir}/site`, `${dir}/link`)
  const of = (name: string) =>
    findRunDirectory({ ...base, cwd: dir, isRoot: true, standalone: { dir: `${dir}/${name}`, production: false } })
  assert.deepEqual(await of('link'), { ok: true, dir: socketDirectory(`${dir}/site/.svc`, uid) })
  assert.deepEqual(await of('link'), await of('site'))
})
