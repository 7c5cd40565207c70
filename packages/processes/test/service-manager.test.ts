import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '@svc/core'
import { ManualClock, PROCESS_WAIT_MS, tempDir, waitFor } from '@svc/testkit'
import { ServiceManager } from '../src/lifecycle/service-manager.ts'

const receiver = `
use Socket; $| = 1;
socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die; bind($s, pack_sockaddr_un($ARGV[0])) or die; print "bound\\n";
while (defined recv($s, my $m, 4096, 0)) { $m =~ s/\\n/ /g; print "$m\\n" }
`

function isMissing(t: TestContext): boolean {
  try {
    execFileSync('systemd-notify', ['--version'])
    execFileSync('perl', ['-MSocket', '-e', '1'])
    return false
  } catch {
    t.skip('needs systemd-notify (package systemd) and perl')
    return true
  }
}

test('states reach the service manager in order with their details, and the watchdog gets pings', async (t) => {
  if (isMissing(t)) return
  const path = join(tempDir(t), 'notify')
  const child = spawn('perl', ['-e', receiver, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  let received = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    received += text
  })
  await once(child.stdout, 'data')
  const env = { PATH: process.env['PATH'], NOTIFY_SOCKET: path, WATCHDOG_USEC: '20000', WATCHDOG_PID: String(process.pid) }
  const problems: Error[] = []
  const manager = new ServiceManager(env, process.pid, systemClock, (error) => problems.push(error))
  t.after(() => manager.close())
  await manager.announce('RELOADING=1', { status: 'generation 2\nREADY=1' })
  await manager.ready('generation 2')
  await manager.report('the last reload failed')
  await manager.announce('STOPPING=1', { status: 'draining', extendMs: 1_500.2 })
  await waitFor('the watchdog', () => received.includes('WATCHDOG=1'), PROCESS_WAIT_MS)
  manager.close()
  assert.deepEqual(problems.map(String), [])
  const lines = received
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('BARRIER'))
  const states = lines.slice(1).filter((line) => !line.startsWith('WATCHDOG=1'))
  assert.match(states[0] ?? '', /^RELOADING=1 MONOTONIC_USEC=\d+ STATUS=generation 2\S+READY=1$/, 'a status is one line')
  assert.deepEqual(states.slice(1), [
    'READY=1 STATUS=generation 2',
    'STATUS=the last reload failed',
    'STOPPING=1 STATUS=draining EXTEND_TIMEOUT_USEC=1500200',
  ])
})

test('the watchdog gets pings of the event loop only, and only in the process that it watches', async (t) => {
  const dir = tempDir(t)
  writeFileSync(join(dir, 'systemd-notify'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  const clock = new ManualClock()
  const sent: Error[] = []
  const start = async (watchdogPid: number) => {
    const env = { PATH: dir, NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '60000000', WATCHDOG_PID: String(watchdogPid) }
    const manager = new ServiceManager(env, 7, clock, (error) => sent.push(error))
    t.after(() => manager.close())
    await manager.ready('up')
    return manager
  }
  await start(8)
  assert.equal(clock.timers, 0, 'another process is watched')
  const manager = await start(7)
  assert.equal(clock.timers, 1, 'one timer')
  clock.advance(29_999)
  assert.equal(clock.timers, 1)
  clock.advance(1)
  assert.equal(clock.timers, 0, 'it pings')
  await waitFor('the timer of the next ping', () => clock.timers === 1, PROCESS_WAIT_MS)
  manager.close()
  assert.deepEqual([clock.timers, sent], [0, []])
})

test('without a service manager nothing is started, and an unreachable one is reported', async () => {
  const problems: Error[] = []
  const silent = new ServiceManager({}, 1, systemClock, (error) => problems.push(error))
  await silent.ready('up')
  silent.close()
  assert.deepEqual(problems.map(String), [])
  const env = { PATH: '/nowhere', NOTIFY_SOCKET: '/nowhere' }
  const deaf = new ServiceManager(env, 1, systemClock, (error) => problems.push(error))
  await deaf.announce('STOPPING=1', { status: 'draining' })
  assert.equal(problems.length, 1)
})
