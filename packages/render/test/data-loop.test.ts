import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Backend, fetching, openData as open } from './data-support/open-data.ts'

/** Two ways to keep what a back end says, which may be another page of the instance. */
const files = ({ url }: Backend) => ({
  'app/fetched/route.ts': fetching(`${url}/x`, '{ next: { revalidate: 60 } }'),
  'app/made/route.ts': `import { unstable_cache } from 'next/cache'
const made = unstable_cache(async () => await (await fetch('${url}/x', { cache: 'no-store' })).text(), [], { revalidate: 60 })
export const GET = async () => new Response(await made())`,
})

for (const path of ['/fetched', '/made']) {
  test(`data of ${path} that is made of the very page that asks for it does not wait for itself`, async (t) => {
    const { backend, host, get } = await open(t, files)
    const back = { headers: [['cdn-loop', 'svc;other, svc;test;t=loop-token']] satisfies [string, string][] }
    backend.answer = (response, text) => {
      // The first fetch leads back to the site; what that fetches in turn is answered.
      if (backend.count > 1) response.end(text)
      else host.render('a', path, back).then((inner) => response.end(`outer of ${inner.text}`), assert.fail)
    }
    assert.equal(await get(path), 'outer of answer 2 to /x')
    assert.equal(await get(path), 'outer of answer 2 to /x')
    assert.equal((await host.render('a', path, back)).text, 'outer of answer 2 to /x')
    assert.equal(backend.count, 2)
  })
}
