import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, type Server, startServer, tempSite, waitFor } from '@svc/testkit'
import { adminToml, bearer, type Username } from '../packages/auth/test/admin-users.ts'

const page = 'export const revalidate = 3600\nexport default function Page() { return <p>a page</p> }'
/** More than a listing looks at for one page. */
const PAGES = 120

async function ask(server: Server, user: Username, path: string, body?: unknown) {
  const headers = { ...(await bearer(user)), 'content-type': 'application/json' }
  const more = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const { status, text } = await fetchHttp(`${server.url}/__svc/admin/api${path}`, { headers, ...more })
  return { status, json: JSON.parse(text) }
}

test('cursors of a listing show no tenant where another has pages, and continue no other listing', async (t) => {
  const own = tempSite(t, { 'app/a/page.tsx': page, 'app/z/page.tsx': page })
  const foreign = tempSite(t, { 'app/[name]/page.tsx': page })
  const site = (id: string, tenant: string, root: string) =>
    `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${root}"\ntenant = "${tenant}"\n`
  const server = await startServer(t, {
    config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 2\n${adminToml}\n${site('own', 'acme', own)}${site('foreign', 'globex', foreign)}`,
  })
  const paths = Array.from({ length: PAGES }, (_, index) => `/merger-${index}`)
  assert.equal((await ask(server, 'root', '/cache/warm', { site: 'foreign', paths })).json.queued, PAGES)
  assert.equal((await ask(server, 'root', '/cache/warm', { site: 'own', paths: ['/a', '/z'] })).json.queued, 2)
  await waitFor('all pages to be stored', async () => (await stored(server)) === PAGES + 2, PROCESS_WAIT_MS)

  const found: string[] = []
  const cursors: string[] = []
  for (let next = ''; next !== 'end' && cursors.length < PAGES; ) {
    const { status, json } = await ask(server, 'tom', `/cache/entries?prefix=/&limit=1${next}`)
    assert.equal(status, 200)
    found.push(...json.entries.map((entry: { readonly path: string }) => entry.path))
    next = json.cursor === null ? 'end' : `&cursor=${json.cursor}`
    if (json.cursor !== null) cursors.push(json.cursor)
  }
  assert.deepEqual(found, ['/a', '/z'])
  assert.ok(cursors.length > 1, 'a page of the listing has no entry of the tenant')
  for (const cursor of cursors) {
    assert.doesNotMatch(Buffer.from(cursor.slice(cursor.indexOf('.') + 1), 'base64url').toString('latin1'), /merger|foreign/)
  }

  const [cursor = ''] = cursors
  const row = Buffer.concat([Buffer.from('\u0002/merger-5\0foreign'), Buffer.alloc(16)]).toString('base64url')
  const refused: readonly [user: Username, query: string][] = [
    ['tom', `limit=1&cursor=${cursor}`],
    ['tom', `prefix=/a&cursor=${cursor}`],
    ['tom', `prefix=/&layer=proxy&cursor=${cursor}`],
    ['ida', `prefix=/&cursor=${cursor}`],
    ['root', `prefix=/&cursor=${cursor}`],
    ['tom', `prefix=/&cursor=0.${row}`],
    ['tom', 'layer=l0&cursor=AAAA'],
  ]
  for (const [user, query] of refused) {
    const { status, json } = await ask(server, user, `/cache/entries?${query}`)
    assert.deepEqual([status, json.code], [400, 'bad_cursor'], `${user} ${query}`)
  }
})

/** Pages that the store holds. */
async function stored(server: Server): Promise<number> {
  const { json } = await ask(server, 'root', '/cache/entries?limit=500')
  return json.entries.length
}
