import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DirectoryFacts, defaultDirectories, MAX_RUN_DIR_BYTES } from '../src/schema/directories.ts'

const user: DirectoryFacts = {
  isRoot: false,
  isStandalone: false,
  uid: 1000,
  baseDir: '/home/a/conf',
  isBaseDirWritable: true,
  stateDir: undefined,
}
const modulesBeside = '/home/a/conf/.svc/cache/modules'
const system = { state: '/var/lib/svc', run: '/run/svc', cache: '/var/cache/svc', modules: modulesBeside }
const beside = {
  state: '/home/a/conf/.svc/state',
  run: '/home/a/conf/.svc/run',
  cache: '/home/a/conf/.svc/cache',
  modules: modulesBeside,
}
const inState = {
  state: '/var/lib/svc',
  run: '/var/lib/svc/.svc/run',
  cache: '/var/lib/svc/.svc/cache',
  modules: '/var/lib/svc/.svc/cache/modules',
}

const cases: readonly [name: string, facts: Partial<DirectoryFacts>, expected: object][] = [
  ['root uses the directories of the system, and .svc beside the config file for modules', { isRoot: true }, system],
  [
    'root keeps modules in the state directory where the config file lies in /etc',
    { isRoot: true, baseDir: '/etc/svc' },
    { ...system, modules: '/var/lib/svc/.svc/cache/modules' },
  ],
  ['anybody else uses .svc beside the config file', {}, beside],
  ['a config file in a place that is not writable puts .svc into the state directory', { isBaseDirWritable: false }, inState],
  ['a config file in /etc puts .svc into the state directory, writable or not', { baseDir: '/etc/svc' }, inState],
  [
    '/etcetera is not /etc',
    { baseDir: '/etcetera' },
    {
      state: '/etcetera/.svc/state',
      run: '/etcetera/.svc/run',
      cache: '/etcetera/.svc/cache',
      modules: '/etcetera/.svc/cache/modules',
    },
  ],
  [
    'a configured state directory holds .svc where the config file cannot',
    { baseDir: '/etc', stateDir: '/srv/s' },
    { state: '/srv/s', run: '/srv/s/.svc/run', cache: '/srv/s/.svc/cache', modules: '/srv/s/.svc/cache/modules' },
  ],
  ['a standalone site keeps its own .svc for root too', { isRoot: true, isStandalone: true }, beside],
]

for (const [name, facts, expected] of cases) {
  test(name, () => assert.deepEqual(defaultDirectories({ ...user, ...facts }), expected))
}

test('where sockets would not fit below .svc/run, a short directory is used, another one for each path and user', () => {
  const deep = (last: string, uid = 1000) =>
    defaultDirectories({ ...user, isStandalone: true, uid, baseDir: `/home/a/${'deep/'.repeat(14)}${last}` })
  const { run, state } = deep('one')
  assert.match(run, /^\/tmp\/svc-1000-[0-9a-f]{16}$/)
  assert.match(state, /\/one\/\.svc\/state$/)
  assert.equal(deep('one').run, run)
  assert.equal(new Set([run, deep('two').run, deep('one', 0).run]).size, 3)
})

test('a run directory of just the longest length stays where it is', () => {
  const at = (bytes: number) => defaultDirectories({ ...user, baseDir: `/${'a'.repeat(bytes - '//.svc/run'.length)}` }).run
  assert.ok(at(MAX_RUN_DIR_BYTES).endsWith('/.svc/run'))
  assert.equal(Buffer.byteLength(at(MAX_RUN_DIR_BYTES)), MAX_RUN_DIR_BYTES)
  assert.ok(at(MAX_RUN_DIR_BYTES + 1).startsWith('/tmp/svc-'))
})
