import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROCESS_WAIT_MS, startServer, tempSite, waitFor } from '@svc/testkit'

const site = {
  'app/loop/route.ts': `export async function POST(request: Request) {
  const answer = await fetch(request.url, { method: 'POST', headers: { 'cdn-loop': 'nobody' } })
  return new Response((answer.status === 200 ? await answer.text() : answer.status) + '+')
}`,
  // Code that the compiler has not seen loses the request behind its first await.
  'app/lost/route.ts': `const lost = new Function('ask', 'return (async () => { await 0; return await ask() })()')
export async function POST(request: Request) {
  const answer = await lost(() => fetch(request.url, { method: 'POST' }))
  return new Response((answer.status === 200 ? await answer.text() : answer.status) + '+')
}`,
  // Stored, so that a second request for the same waits for the first one where it may.
  'app/kept/route.ts': `export const revalidate = 60
export async function GET(request: Request) {
  const answer = await fetch(request.url)
  return new Response((answer.status === 200 ? await answer.text() : answer.status) + '+')
}`,
  'app/data/route.ts': `export const revalidate = 60
export async function GET(request: Request) {
  const answer = await fetch(request.url, { next: { revalidate: 60 } })
  return new Response((answer.status === 200 ? await answer.text() : answer.status) + '+')
}`,
  // The request has ended before it goes on.
  'app/late/route.ts': `import { state } from '../../state'
export function POST(request: Request) {
  setTimeout(async () => { state.last = (await fetch(request.url, { method: 'POST' })).status }, 10)
  return new Response('later')
}`,
  'app/last/route.ts': `import { state } from '../../state'
export const dynamic = 'force-dynamic'
export const GET = () => new Response(String(state.last))`,
  'state.ts': 'export const state = { last: 0 }',
}

test('a site that fetches itself is stopped by the service, also where its requests have ended by then', async (t) => {
  const root = tempSite(t, site)
  const config = `[render]\nworkers = 1\n[[sites]]\nid = "a"\nhostnames = ["a.test"]\nroot = "${root}"\nfetch_allow = ["127.0.0.0/8"]\n`
  const { url } = await startServer(t, { config })
  const text = async (path: string, method = 'POST') => await fetch(`${url}${path}`, { method }).then((answer) => answer.text())
  assert.equal(await text('/loop'), '508+++++')
  assert.equal(await text('/lost'), '508+++++')
  for (const path of ['/kept', '/data']) {
    const first = await text(path, 'GET')
    assert.equal(first, '508+++++', path)
    assert.equal(await text(path, 'GET'), first, `${path} from the store`)
  }
  assert.equal(await text('/late'), 'later')
  await waitFor('the end of the chain', async () => (await text('/last', 'GET')) === '508', PROCESS_WAIT_MS)
})
