import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplyWithBytes } from '@svc/core'
import { l0Entries, l0Entry } from '../src/l0/l0-entries.ts'
import { PipelineServer } from './pipeline-server.ts'

const all = { limit: 500, after: '' }

/** A server whose responses come into L0 at their second request. */
async function serverWith(t: Parameters<typeof PipelineServer.start>[0], tags: readonly string[] = []) {
  const server = await PipelineServer.start(t)
  server.intercept = (context) => {
    const { path } = context.request
    context.offerToL0({
      expiresAt: server.clock.now() + 60_000,
      label: context.site?.config.label ?? '',
      path,
      tags: [`route:shop:${path}`, ...tags],
      seq: server.ledger.last,
      dependsOnCookies: false,
    })
    context.respond({ status: 200, headers: [['content-type', 'text/html']] }, Buffer.from(`body of ${path}`))
    return 'answered'
  }
  const ask = async (path: string, times: number) => {
    for (let i = 0; i < times; i++) await server.get(path)
  }
  return { server, ask }
}

test('responses are listed with their address, times and hits, and one is found by its key with its body', async (t) => {
  const { server, ask } = await serverWith(t)
  await ask('/a/../b?q=1', 5)
  await ask('/once', 1)
  const { admission } = server.l0
  const { entries, until } = await l0Entries(admission, all)
  assert.equal(until, undefined)
  const [entry, ...others] = entries
  assert.ok(entry !== undefined && others.length === 0)
  const { key, label, host, path, query, tags, status, hits } = entry
  assert.deepEqual(
    { label, host, path, query, tags, status, hits },
    { label: 'shop', host: 'shop.test', path: '/b', query: 'q=1', tags: ['route:shop:/b'], status: 200, hits: 3 },
  )
  assert.match(key, /shop\.test\/b\?q=1$/)
  assert.equal((entry.freshUntil ?? 0) - entry.storedAt, 60_000)
  assert.ok(admission !== undefined)
  const clock = { ...admission.clock, now: () => 5_000_000_000_000, monotonic: () => admission.clock.monotonic() }
  const [later] = (await l0Entries({ ...admission, clock }, all)).entries
  assert.ok(later !== undefined && Math.abs(later.storedAt - 5_000_000_000_000) < 600_000, 'a time of day')

  assert.deepEqual(l0Entry(admission, { key, maxBytes: 0 }), { entry })
  const withBody = l0Entry(admission, { key, maxBytes: 4 })
  assert.ok(withBody instanceof ReplyWithBytes)
  assert.equal(Buffer.from(withBody.bytes as Uint8Array).toString(), 'body')
  assert.deepEqual(l0Entry(admission, { key: 'gone', maxBytes: 4 }), {})
  assert.deepEqual(l0Entry(undefined, { key, maxBytes: 0 }), {})
  assert.deepEqual(await l0Entries(undefined, all), { entries: [] })
})

test('a page has a bound of text, and the next one goes on behind it', async (t) => {
  const { server, ask } = await serverWith(
    t,
    Array.from({ length: 100 }, (_, i) => `route:shop:${i}${'x'.repeat(2_000)}`),
  )
  const paths = Array.from({ length: 60 }, (_, i) => `/${i}`)
  for (const path of paths) await ask(path, 2)
  const seen: string[] = []
  let pages = 0
  for (let after = ''; pages < 60; pages++) {
    const { entries, until } = await l0Entries(server.l0.admission, { ...all, after })
    assert.ok(JSON.stringify(entries).length < 1.5 * 1024 * 1024)
    seen.push(...entries.map(({ path }) => path))
    if (until === undefined) break
    after = until
  }
  assert.ok(pages > 0)
  assert.deepEqual(seen.toSorted(), paths.toSorted())
})
