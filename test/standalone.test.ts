import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Child, fetchHttp, PROCESS_WAIT_MS, startServer, svcCommand, tempDir, waitFor, writeFiles } from '@svc/testkit'

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
  await waitFor('the edit', async () => (await fetchHttp(`${server.url}/`)).text.includes('edited by hand'), PROCESS_WAIT_MS)

  writeFiles(dir, { 'app/later/page.tsx': 'export default function Page() { return <h1>added later</h1> }\n' })
  await waitFor(
    'the new route',
    async () => (await fetchHttp(`${server.url}/later`)).text.includes('added later'),
    PROCESS_WAIT_MS,
  )
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
  await waitFor('the mended page', async () => (await fetchHttp(`${server.url}/`)).text.includes('mended'), PROCESS_WAIT_MS)
})

test('in development a request sees every write that came before it: pages, styles, data, routes', async (t) => {
  const dir = tempDir(t)
  const files = (text: string) => ({
    'app/page.tsx': `import data from '../data.json'\nimport styles from './page.module.css'\nimport './page.css'\nexport default () => <p className={styles.a}>{data.text} page-${text}</p>\n`,
    'app/page.module.css': `.a { --module: ${text}; }\n`,
    'app/page.css': '@import "../shared.css";\n',
    'shared.css': `p { --shared: ${text}; }\n`,
    'data.json': `{"text": "json-${text}"}\n`,
    'app/layout.tsx': `export default ({ children }: any) => <html lang="en"><body id="layout-${text}">{children}</body></html>\n`,
    'public/file.txt': `public-${text}\n`,
  })
  writeFiles(dir, files('first'))
  const server = await startServer(t, { dir })
  const get = async (path: string) => (await fetchHttp(`${server.url}${path}`)).text
  // Asked for often enough to be in every cache that there is.
  for (let i = 0; i < 4; i++) assert.match(await get('/'), /page-first/)
  const all = files('second')
  for (const [name, marks] of [
    ['data.json', /json-second/],
    ['app/page.module.css', /--module: second/],
    ['shared.css', /--shared: second/],
    ['app/page.tsx', /page-second/],
    ['app/layout.tsx', /layout-second/],
  ] as const) {
    writeFiles(dir, { [name]: all[name] })
    assert.match(await get('/'), marks, name)
  }
  assert.equal((await fetchHttp(`${server.url}/new/one`)).status, 404)
  writeFiles(dir, { 'app/[...all]/page.tsx': 'export default () => <p>caught</p>\n' })
  assert.match(await get('/new/one'), /caught/)
  writeFiles(dir, { 'app/new/[id]/page.tsx': 'export default () => <p>added</p>\n' })
  assert.match(await get('/new/one'), /added/)
  rmSync(join(dir, 'app/new'), { recursive: true })
  assert.match(await get('/new/one'), /caught/)
  // Many at once wait for one look.
  writeFiles(dir, { 'data.json': '{"text": "json-third"}\n' })
  const pages = await Promise.all(Array.from({ length: 20 }, () => get('/')))
  for (const text of pages) assert.match(text, /json-third/)
  assert.match(await get('/file.txt'), /public-first/)
  writeFiles(dir, { 'public/file.txt': all['public/file.txt'] })
  assert.match(await get('/file.txt'), /public-second/)
})
