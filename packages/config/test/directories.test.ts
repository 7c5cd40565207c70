import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unitDirectories } from '../src/load/choose-directories.ts'
import { defaultDirectories, socketDirectory } from '../src/schema/directories.ts'

type DirectoryInputs = Parameters<typeof defaultDirectories>[0]

const user: DirectoryInputs = {
  isRoot: false,
  isStandalone: false,
  uid: 1000,
  baseDir: '/home/a/conf',
  isBaseDirWritable: true,
  isBaseDirSafe: true,
  stateDir: undefined,
}
const modulesBeside = '/home/a/conf/.svc/cache/modules'
const system = { state: '/var/lib/svc', run: '/run/svc', cache: '/var/cache/svc', modules: modulesBeside }
const beside = {
  state: '/home/a/conf/.svc/state',
  run: socketDirectory('/home/a/conf/.svc', 1000),
  cache: '/home/a/conf/.svc/cache',
  modules: modulesBeside,
}
const inState = {
  state: '/var/lib/svc',
  run: '/var/lib/svc/run',
  cache: '/var/lib/svc/.svc/cache',
  modules: '/var/lib/svc/.svc/cache/modules',
}

const cases: readonly [name: string, facts: Partial<DirectoryInputs>, expected: object][] = [
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
      run: socketDirectory('/etcetera/.svc', 1000),
      cache: '/etcetera/.svc/cache',
      modules: '/etcetera/.svc/cache/modules',
    },
  ],
  [
    'a configured state directory holds .svc where the config file cannot',
    { baseDir: '/etc', stateDir: '/srv/s' },
    { state: '/srv/s', run: '/srv/s/run', cache: '/srv/s/.svc/cache', modules: '/srv/s/.svc/cache/modules' },
  ],
  ['a standalone site keeps its own .svc for root too', { isRoot: true, isStandalone: true }, beside],
  [
    'root keeps nothing of a standalone site where another user could replace it',
    { isRoot: true, isStandalone: true, isBaseDirSafe: false },
    {
      state: '/var/lib/svc-standalone/b25fdcc7b34a1a80/state',
      run: socketDirectory('/home/a/conf/.svc', 1000),
      cache: '/var/lib/svc-standalone/b25fdcc7b34a1a80/cache',
      modules: '/var/lib/svc-standalone/b25fdcc7b34a1a80/cache/modules',
    },
  ],
  [
    'root keeps modules in the state directory where another user could replace them',
    { isRoot: true, isBaseDirSafe: false, stateDir: '/srv/s' },
    { ...system, modules: '/srv/s/.svc/cache/modules' },
  ],
  [
    'an instance of root that keeps its state in .svc has its sockets in /tmp',
    { isRoot: true, stateDir: '/home/a/conf/.svc/state' },
    { ...system, run: socketDirectory('/home/a/conf/.svc', 1000), modules: '/home/a/conf/.svc/cache/modules' },
  ],
  [
    'root keeps no modules in .svc where another user could replace them, though the state directory lies there',
    { isRoot: true, isBaseDirSafe: false, stateDir: '/home/a/conf/.svc/state' },
    {
      ...system,
      run: socketDirectory('/home/a/conf/.svc', 1000),
      modules: '/var/lib/svc-standalone/b25fdcc7b34a1a80/cache/modules',
    },
  ],
  [
    'a configured state directory holds .svc where another user could replace it',
    { isBaseDirSafe: false, stateDir: '/srv/s' },
    { state: '/srv/s', run: '/srv/s/run', cache: '/srv/s/.svc/cache', modules: '/srv/s/.svc/cache/modules' },
  ],
  [
    'a user without another place is left beside the config file, where the start says what is wrong',
    { isBaseDirSafe: false },
    beside,
  ],
]

for (const [name, facts, expected] of cases) {
  test(name, () => assert.deepEqual(defaultDirectories({ ...user, ...facts }), expected))
}

test('sockets lie outside of the project, in a short directory of its own for each path and user', () => {
  const deep = (last: string, uid = 1000) =>
    defaultDirectories({ ...user, isStandalone: true, uid, baseDir: `/home/a/${'deep/'.repeat(60)}${last}` })
  const { run, state } = deep('one')
  assert.match(run, /^\/tmp\/svc-1000-[0-9a-f]{16}$/)
  assert.match(state, /\/one\/\.svc\/state$/)
  assert.equal(deep('one').run, run)
  assert.equal(new Set([run, deep('two').run, deep('one', 0).run]).size, 3)
})

test('the main process of a systemd unit uses the directories of the unit, and its programs do not', () => {
  const env = { SYSTEMD_EXEC_PID: '7', STATE_DIRECTORY: '/var/lib/a', RUNTIME_DIRECTORY: '/run/a', CACHE_DIRECTORY: '/c/1:/c/2' }
  assert.deepEqual(unitDirectories(env, 7), { state: '/var/lib/a', run: '/run/a' })
  assert.deepEqual(unitDirectories(env, 8), {})
  assert.deepEqual(unitDirectories({ ...env, SYSTEMD_EXEC_PID: undefined }, 7), {})
})
