import assert from 'node:assert/strict'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { LoadedConfig } from '@svc/config'
import { requireProgram, requireRoot, startRedis, tempDir, writeFiles } from '@svc/testkit'
import { clockCheck } from '../src/doctor/checks/clock.ts'
import { redisCheck } from '../src/doctor/checks/redis.ts'
import { unitsCheck } from '../src/doctor/checks/units.ts'
import { forbiddenPaths } from '../src/doctor/checks/user-rights.ts'
import { type Machine, thisMachine } from '../src/doctor/model/machine.ts'
import type { ServerUser, Subject } from '../src/doctor/model/subject.ts'

/** A configuration, as far as the check of Redis reads it. */
function configured(url: string): LoadedConfig {
  const config = { redis: { url, key_prefix: 'svc:' }, cache: { isr: { l2_enabled: true } }, rate_limit: { distributed: false } }
  return { ok: true, config } as unknown as LoadedConfig
}

const subjectOf = (parts: Partial<Subject>) => parts as Subject
/** A machine without files, whose programs print what is said here. */
const scripted = (outputs: Readonly<Record<string, string>>): Machine => ({
  read: async () => undefined,
  run: async (program) => {
    const stdout = outputs[program]
    return stdout === undefined ? undefined : { code: 0, stdout }
  },
})

async function startedRedis(t: TestContext, args: readonly string[]) {
  const executable = requireProgram(t, 'redis-server')
  return executable === undefined ? undefined : await startRedis(t, executable, { args })
}

test('rights that a user of Redis lacks are named with the command that grants them', async (t) => {
  const user = 'doctor on >pw resetkeys ~svc:* resetchannels &svc:* -@all +@read +@connection'
  const redis = await startedRedis(t, [
    '--maxmemory',
    '100mb',
    '--maxmemory-policy',
    'volatile-lru',
    '--user',
    ...user.split(' '),
  ])
  if (redis === undefined) return
  const [facts, rights, latency] = await redisCheck.run(
    subjectOf({ loaded: configured(`unix://doctor:pw@localhost${redis.socket}`) }),
  )
  assert.equal(facts?.status, 'unknown')
  assert.match(facts?.remedy ?? '', /\+info$/)
  assert.equal(rights?.status, 'problem')
  for (const command of ['UNLINK', 'EVAL', 'XADD', 'PUBLISH'])
    assert.match(rights?.message ?? '', new RegExp(`${command} \\(NOPERM`))
  assert.doesNotMatch(rights?.message ?? '', /HGETALL/)
  assert.match(rights?.remedy ?? '', /^redis-cli ACL SETUSER <user> '~svc:\*' '&svc:\*' \+@read \+@write/)
  assert.equal(latency?.status, 'ok')
})

test('a Redis without a bound is a warning where pages are stored in it, and one that refuses when full too', async (t) => {
  const redis = await startedRedis(t, [])
  if (redis === undefined) return
  const [, unbound] = await redisCheck.run(subjectOf({ loaded: configured(redis.url) }))
  assert.deepEqual(
    [unbound?.status, unbound?.message],
    ['warning', 'maxmemory is not set: pages can fill the memory of the machine'],
  )
  assert.match(unbound?.remedy ?? '', /CONFIG SET maxmemory/)
  const full = await startedRedis(t, ['--maxmemory', '100mb'])
  const [, refusing] = await redisCheck.run(subjectOf({ loaded: configured(full?.url ?? '') }))
  assert.deepEqual(refusing?.status, 'warning')
  assert.match(refusing?.remedy ?? '', /maxmemory-policy volatile-lru/)
})

test('the clock is judged by the time service, else by that of Redis, else not at all', async (t) => {
  const verdict = async (outputs: Readonly<Record<string, string>>, url?: string) => {
    const loaded = url === undefined ? ({ config: { redis: {} } } as unknown as LoadedConfig) : configured(url)
    return (await clockCheck.run(subjectOf({ machine: scripted(outputs), loaded })))[0]
  }
  assert.equal((await verdict({ timedatectl: 'yes\n' }))?.status, 'ok')
  const free = await verdict({ timedatectl: 'no\n' })
  assert.equal(free?.status, 'warning')
  assert.match(free?.remedy ?? '', /^timedatectl set-ntp true/)
  assert.equal((await verdict({}))?.status, 'unknown')
  const redis = await startedRedis(t, [])
  if (redis === undefined) return
  assert.equal((await verdict({}, redis.url))?.status, 'ok')
  const { now } = Date
  t.mock.method(Date, 'now', () => now() + 60_000)
  const ahead = await verdict({}, redis.url)
  assert.equal(ahead?.status, 'problem')
  assert.match(ahead?.message ?? '', /^\d+ ms ahead of that of Redis$/)
})

test('the rights of the user of the server are those that the kernel gives it, and unknown to other users', async (t) => {
  const dir = tempDir(t)
  chmodSync(dir, 0o755)
  mkdirSync(join(dir, 'closed'), { mode: 0o700 })
  writeFiles(dir, { 'closed/key.pem': '', 'open.pem': '', "odd name'\n.pem": '' })
  for (const name of ['closed/key.pem', 'open.pem']) chmodSync(join(dir, name), 0o644)
  chmodSync(join(dir, "odd name'\n.pem"), 0o600)
  const paths = ['closed/key.pem', 'open.pem', "odd name'\n.pem", 'missing.pem'].map((name) => join(dir, name))
  const of = (user: Partial<ServerUser>) => forbiddenPaths({ user: user as ServerUser, machine: thisMachine }, paths, 'r')
  assert.deepEqual((await of({ uid: process.getuid?.() ?? 0 }))?.includes(paths[3] ?? ''), true)
  if (!requireRoot(t)) return
  assert.deepEqual(await of({ uid: 65_534, name: 'nobody' }), [paths[0], paths[2], paths[3]])
  t.mock.method(process as { geteuid: () => number }, 'geteuid', () => 1)
  assert.equal(await of({ uid: 65_534, name: 'nobody' }), undefined)
})

test('a site that is served alone needs no unit, and without systemd that is said', async () => {
  const none = { askUnit: async () => undefined }
  const alone = { sites: [{ any_host: true }] } as unknown as LoadedConfig
  assert.deepEqual((await unitsCheck.run(subjectOf({ loaded: alone, ...none })))[0]?.status, 'ok')
  const [absent] = await unitsCheck.run(subjectOf({ loaded: undefined, ...none }))
  assert.deepEqual([absent?.status, /systemd does not run here/.test(absent?.message ?? '')], ['unknown', true])
})
