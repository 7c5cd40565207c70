import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Child, requireNetworkNamespace, tempSite } from '@svc/testkit'

const program = join(import.meta.dirname, 'harness/fetch-in-namespace.ts')

test('services of the machine are out of reach at its public addresses, also at one that was added while running', async (t) => {
  if (!requireNetworkNamespace(t)) return
  const dir = await tempSite(t, { hosts: '9.9.9.9 mixed.example\n2606:4700:aaaa::7 mixed.example\n' })
  const script = 'mount --bind "$0" /etc/hosts && exec "$@"'
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', program]
  const child = new Child(t, 'unshare', ['--net', '--mount', 'sh', '-c', script, join(dir, 'hosts'), ...node])
  const results = JSON.parse(await child.waitForLine('results', (line) => line.startsWith('{'))) as Record<string, string>
  for (const label of ['IPv4', 'IPv6', 'mapped', 'name of two addresses', 'added', 'routed range']) {
    assert.match(results[label] ?? '', /is an address of this machine; fetch_allow may list it/, label)
  }
  assert.doesNotMatch(results['added later'] ?? '', /secret|this machine/)
  assert.equal(results['requests before'], '0')
  assert.deepEqual([results['by address'], results['by port'], results['by CIDR']], ['secret', 'secret', 'secret'])
})
