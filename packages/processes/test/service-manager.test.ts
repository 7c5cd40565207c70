import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '@svc/core'
import { PROCESS_WAIT_MS, tempDir, waitFor } from '@svc/testkit'
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

test('states reach the socket of the service manager in order, and the watchdog is kept quiet', async (t) => {
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
  await manager.announce('RELOADING=1')
  await manager.ready()
  await waitFor('the watchdog', () => received.includes('WATCHDOG=1'), PROCESS_WAIT_MS)
  manager.close()
  assert.deepEqual(problems.map(String), [])
  const lines = received
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('BARRIER'))
  assert.match(lines[1] ?? '', /^RELOADING=1 MONOTONIC_USEC=\d+/)
  assert.match(lines[2] ?? '', /^READY=1/)
})

test('without a service manager nothing is started, and an unreachable one is reported', async () => {
  const problems: Error[] = []
  const silent = new ServiceManager({}, 1, systemClock, (error) => problems.push(error))
  await silent.ready()
  silent.close()
  assert.deepEqual(problems.map(String), [])
  const env = { PATH: '/nowhere', NOTIFY_SOCKET: '/nowhere' }
  const deaf = new ServiceManager(env, 1, systemClock, (error) => problems.push(error))
  await deaf.announce('STOPPING=1')
  assert.equal(problems.length, 1)
})
