import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluateHealth } from '../src/index.ts'

type HealthInputs = Parameters<typeof evaluateHealth>[0]

const well: HealthInputs = {
  uptimeMs: 61_900,
  renderPool: { hostsWanted: 1, hostsReady: 1, starvedSites: [], loopingSites: [] },
  workers: { wanted: 2, ready: 2, isCrashLooping: false },
  disks: [{ path: '/var/cache/svc', freeRatio: 0.05 }],
}

test('a well instance reports only the parts that exist', () => {
  assert.deepEqual(evaluateHealth(well), { status: 'healthy', uptime_secs: 61, checks: { render_pool: 'ok', disk_space: 'ok' } })
})

test('each part can degrade the instance and says why', () => {
  const cases: [Partial<HealthInputs>, string, string][] = [
    [{ renderPool: { ...well.renderPool, hostsReady: 0 } }, 'render_pool', 'degraded: 0 of 1 render hosts are up'],
    [{ renderPool: { ...well.renderPool, starvedSites: ['a'] } }, 'render_pool', 'degraded: no render thread for a'],
    [
      { renderPool: { ...well.renderPool, loopingSites: ['a', 'b'] } },
      'render_pool',
      'degraded: isolates are crash-looping: a, b',
    ],
    [{ isrCache: { problem: 'map full' } }, 'isr_cache', 'degraded: map full'],
    [{ redis: { problem: 'refused' } }, 'redis', 'degraded: refused'],
    [{ tlsCerts: { problems: ['a.pem expired'] } }, 'tls_certs', 'degraded: a.pem expired'],
    [{ disks: [{ path: '/x', freeRatio: 0.049 }] }, 'disk_space', 'degraded: 4.9 % free at /x'],
    [{ workers: { wanted: 2, ready: 1, isCrashLooping: true } }, 'workers', 'degraded: workers are crash-looping, 1 of 2 are up'],
    [{ workers: { wanted: 2, ready: 0, isCrashLooping: false } }, 'workers', 'degraded: no worker is up'],
  ]
  for (const [change, check, expected] of cases) {
    const health = evaluateHealth({ ...well, ...change })
    assert.equal(health.status, 'degraded')
    assert.equal(health.checks[check], expected)
  }
})

test('configured parts that are well say ok', () => {
  const health = evaluateHealth({
    ...well,
    redis: { problem: undefined },
    isrCache: { problem: undefined },
    tlsCerts: { problems: [] },
  })
  assert.deepEqual(health.checks, { render_pool: 'ok', isr_cache: 'ok', redis: 'ok', tls_certs: 'ok', disk_space: 'ok' })
})
