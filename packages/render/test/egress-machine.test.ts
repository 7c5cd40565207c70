import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Child, requireNetworkNamespace, tempSite } from '@svc/testkit'
import { RoutedRanges } from '../src/thread/egress/routed-ranges.ts'

const route = (destination: string, prefix: string, flags: string) =>
  `${destination} ${prefix} ${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00000400 00000001 00000000 ${flags}       lo`

test('ranges that are routed to the machine follow the table of the kernel, which is read at most once a second', async () => {
  let now = 0
  let reads = 0
  let table = [
    route('26064700bbbb00000000000000000000', '40', '80000001'),
    route('26064700cccc00000000000000000000', '40', '00000001'),
  ]
  const lines = async function* () {
    reads++
    yield* table
  }
  const ranges = new RoutedRanges({ lines, now: () => now })
  const seen = () =>
    Promise.all(['2606:4700:bbbb::5', '2606:4700:cccc::5', '2606:4700:dddd::5', '9.9.9.9'].map((one) => ranges.includes(one)))
  assert.deepEqual(await seen(), [true, false, false, false])
  table = [route('26064700dddd00000000000000000000', '30', '00100001')]
  now = 999
  assert.deepEqual(await seen(), [true, false, false, false])
  assert.equal(reads, 1)
  now = 1_000
  assert.deepEqual(await seen(), [false, false, true, false])
  assert.equal(reads, 2)
})

test('routes that cannot be read refuse a fetch; a kernel without IPv6 has none', async () => {
  const failing = (code: string) => ({
    // biome-ignore lint/correctness/useYield: it fails before its first line
    async *lines(): AsyncGenerator<string> {
      throw Object.assign(new Error(code), { code })
    },
  })
  await assert.rejects(new RoutedRanges(failing('EMFILE')).includes('2606:4700::1'), { code: 'RENDER_FETCH_FAILED' })
  assert.equal(await new RoutedRanges(failing('ENOENT')).includes('2606:4700::1'), false)
})

const program = join(import.meta.dirname, 'harness/fetch-in-namespace.ts')

test('services of the machine are out of reach at its public addresses, also at one that was added while running', async (t) => {
  if (!requireNetworkNamespace(t)) return
  const dir = await tempSite(t, { hosts: '9.9.9.9 mixed.example\n2606:4700:aaaa::7 mixed.example\n' })
  const script = 'mount --bind "$0" /etc/hosts && exec "$@"'
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', program]
  const child = new Child(t, 'unshare', ['--net', '--mount', 'sh', '-c', script, join(dir, 'hosts'), ...node])
  const results = JSON.parse(await child.waitForLine('results', (line) => line.startsWith('{'))) as Record<string, string>
  for (const label of [
    'IPv4',
    'IPv6',
    'mapped',
    'name of two addresses',
    'added',
    'routed range',
    'routed IPv6 range',
    'IPv6 range of another table',
  ]) {
    assert.match(results[label] ?? '', /is an address of this machine; fetch_allow may list it/, label)
  }
  assert.doesNotMatch(results['added later'] ?? '', /secret|this machine/)
  assert.doesNotMatch(results['IPv6 beside the range'] ?? '', /secret|this machine/)
  assert.equal(results['requests before'], '0')
  assert.deepEqual([results['by address'], results['by port'], results['by CIDR']], ['secret', 'secret', 'secret'])
})
