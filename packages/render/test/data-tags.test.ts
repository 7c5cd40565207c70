import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_ENTRY_TAGS } from '@svc/cache'
import { MAX_EMITTED_TAGS } from '@svc/guest'
import { PROCESS_WAIT_MS, waitFor } from '@svc/testkit'
import { openData as open } from './data-support/open-data.ts'

const tags = 'Array.from({ length: 200 }, (_, i) => "t" + i)'

test('of one fetch 128 tags of 256 characters are kept, and the log says once per file that there were more', async (t) => {
  const { host } = await open(t, ({ url }) => ({
    'app/many/page.tsx': `export default async () => { await fetch('${url}/x', { next: { revalidate: 60, tags: ${tags} } }); return <p/> }`,
    'app/long/page.tsx': `export default async () => {
  await fetch('${url}/y', { next: { revalidate: 60, tags: ['short', 'x'.repeat(257), 'y'.repeat(256)] } })
  return <p/>
}`,
    'app/last/page.tsx': 'export default () => { console.log("the last line"); return <p/> }',
  }))
  for (let round = 0; round < 2; round++) {
    const { body: many } = await host.render('a', '/many')
    assert.deepEqual([many.cache?.tags.length, many.cache?.tags[127]], [128, 't127'])
    const { body: long } = await host.render('a', '/long')
    assert.deepEqual(long.cache?.tags, ['short', 'y'.repeat(256)])
  }
  await host.render('a', '/last')
  await waitFor('the log', () => host.log.includes('the last line'), PROCESS_WAIT_MS)
  assert.equal(host.log.split('it gives 200 cache tags at once').length, 2)
  assert.equal(host.log.split('a cache tag of it has 257 characters').length, 2)
  assert.match(host.log, /many\/page\.tsx: it gives/)
})

test('of a cached function the same number is stored, and an invalid tag is an error', async (t) => {
  const { host, get } = await open(t, () => ({
    'app/page.tsx': `import { unstable_cache } from 'next/cache'
const cached = unstable_cache(async () => 'x', [], { tags: ${tags} })
export default async () => <p>{await cached()}</p>`,
    'app/wrong/route.ts': `import { unstable_cache } from 'next/cache'
export const GET = () => { try { unstable_cache(async () => 1, [], { tags: [1] }) } catch (error) { return new Response(error.message) } }`,
  }))
  assert.equal((await host.render('a', '/')).body.cache?.tags.length, 128)
  assert.match(await get('/wrong'), /^A cache tag is a text/)
})

test('data with more tags than a purge could find is not stored', async (t) => {
  assert.ok(MAX_EMITTED_TAGS > MAX_ENTRY_TAGS, 'the one too many is told')
  const { backend, host, get } = await open(t, ({ url }) => ({
    'app/route.ts': `import { unstable_cache } from 'next/cache'
const cached = (count) => unstable_cache(async () => {
  for (let i = 0; i < count; i++) await fetch('${url}/x', { next: { revalidate: 60, tags: Array.from({ length: 128 }, (_, j) => i + '-' + j) } })
  return Math.random()
}, [String(count)], {})
export const GET = async (request) => Response.json(await cached(Number(new URL(request.url).search.slice(1)))())`,
    'app/page/page.tsx': `export default async () => {
  for (let i = 0; i < 20; i++) await fetch('${url}/x?' + i, { next: { revalidate: 60, tags: Array.from({ length: 128 }, (_, j) => i + '-' + j) } })
  return <p/>
}`,
  }))
  assert.equal(await get('/?8'), await get('/?8'))
  assert.notEqual(await get('/?9'), await get('/?9'))
  assert.equal((await host.render('a', '/page')).body.cache?.tags.length, MAX_EMITTED_TAGS)
  assert.ok(backend.count > 0)
})
