import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Child, fetchHttp, startServer, svcCommand, tempDir, waitFor, writeFiles } from '@svc/testkit'

test('a scaffolded site is served at once, and an edit shows without a restart', async (t) => {
  const dir = join(tempDir(t), 'mysite')
  const created = new Child(t, svcCommand, ['new', dir])
  assert.equal((await created.exited).code, 0, created.stderr)
  const server = await startServer(t, { dir })
  const first = await fetchHttp(`${server.url}/`)
  assert.equal(first.status, 200, first.text)

  const file = join(dir, 'app/page.tsx')
  assert.ok(readFileSync(file, 'utf8').length > 0)
  writeFileSync(file, 'export default function Page() { return <h1>edited by hand</h1> }\n')
  await waitFor('the edit', async () => (await fetchHttp(`${server.url}/`)).text.includes('edited by hand'))

  writeFiles(dir, { 'app/later/page.tsx': 'export default function Page() { return <h1>added later</h1> }\n' })
  await waitFor('the new route', async () => (await fetchHttp(`${server.url}/later`)).text.includes('added later'))
})

test('in development an error shows its source, and the mended page comes back', async (t) => {
  const dir = tempDir(t)
  writeFiles(dir, {
    'app/page.tsx':
      'export default function Page() {\n  const broken = undefined as never as { deep: { er: string } }\n  return <p>{broken.deep.er}</p>\n}\n',
  })
  const server = await startServer(t, { dir })
  const failed = await fetchHttp(`${server.url}/`)
  assert.equal(failed.status, 500)
  assert.match(failed.text, /app\/page\.tsx:3/)
  writeFiles(dir, { 'app/page.tsx': 'export default function Page() { return <p>mended</p> }\n' })
  await waitFor('the mended page', async () => (await fetchHttp(`${server.url}/`)).text.includes('mended'))
})
