// Campaign: faults of site code.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHttp, type HttpAnswer, PROCESS_WAIT_MS, startLoad, startServer, tempSite, waitFor } from '@svc/testkit'

/** A neighbour that has to share the machine with endless loops must not reach it, nor must a restart. */
const TIMEOUT_MS = 3_000

/** Ways in which the code of a site goes wrong. Each is the body of its page component. */
const faults: Readonly<Record<string, string>> = {
  'endless-loop': 'for (;;) {}',
  'growing-map': 'const m = new Map(); for (let i = 0; i < 1e9; i++) m.set(i, i)',
  'huge-split': `return <p>{'x,'.repeat(2 ** 27).split(',').length}</p>`,
  'huge-sort': 'const a = Array.from({ length: 5e6 }, () => Math.random()); a.sort(); return <p>{a.length}</p>',
  'bigint-work': 'let x = 2n ** 1000000n; for (;;) x = x * x',
  'resizable-buffers': `const kept = []; for (;;) kept.push(new ArrayBuffer(1, { maxByteLength: 2 << 20 }).resize(2 << 20))`,
  'memory-bomb': 'const kept = []; for (;;) kept.push(new Array(1e5).fill(kept.length))',
  'unhandled-rejection': `Promise.reject(new Error('nobody listens')); return <p>survived</p>`,
  'never-resolving': 'await new Promise(() => {}); return <p>never</p>',
  'thrown-in-timer': `setTimeout(() => { throw new Error('late') }, 1); return <p>survived</p>`,
}

const sources: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(faults).map(([name, body]) => [
      name,
      `export const dynamic = 'force-dynamic'\nexport default async function Page() { ${body} }`,
    ]),
  ),
  'throw-at-import': `throw new Error('not today')\nexport default function Page() { return <p>never</p> }`,
}

const pageOf = (source: string) => ({
  'app/page.tsx': source,
  'app/well/page.tsx': 'export default function Page() { return <p>well again</p> }',
})

test('a faulty site costs its neighbour no request, and is served again itself', async (t) => {
  const sites = Object.entries({ neighbour: 'export default async function Page() { return <p>unharmed</p> }', ...sources })
  const config = sites.map(
    ([id, source]) => `[[sites]]\nid = "${id}"\nhostnames = ["${id}.localhost"]\nroot = "${tempSite(t, pageOf(source))}"\n`,
  )
  const server = await startServer(t, { config: `[render]\ntimeout_ms = ${TIMEOUT_MS}\n\n${config.join('\n')}` })
  assert.equal((await fetchHttp(`${server.url}/`, { host: 'neighbour.localhost' })).status, 200)
  const load = startLoad(t, {
    url: `${server.url}/`,
    host: 'neighbour.localhost',
    keepAlive: 3,
    fresh: 1,
    check: ({ status, text }: HttpAnswer) =>
      status === 200 && text.includes('unharmed') ? undefined : `${status} ${text.slice(0, 200)}`,
  })
  for (const name of Object.keys(sources)) {
    const host = `${name}.localhost`
    const answer = await fetchHttp(`${server.url}/`, { host })
    if (name === 'unhandled-rejection' || name === 'thrown-in-timer') assert.match(answer.text, /survived/, name)
    else if (name !== 'huge-split' && name !== 'huge-sort') assert.ok(answer.status >= 500, `${name}: status ${answer.status}`)
    await waitFor(
      `${name} to be well again`,
      async () => {
        const again = await fetchHttp(`${server.url}/well`, { host })
        return again.status === 200 && again.text.includes('well again')
      },
      120_000,
    )
    const before = load.done()
    await waitFor(`the neighbour of ${name}`, () => load.done() > before + 20, PROCESS_WAIT_MS)
  }
  const report = await load.stop()
  assert.deepEqual(report.failures.slice(0, 5), [])
  assert.ok(report.ok > 200)
})

test('features that could escape the limits of an isolate are absent', async (t) => {
  const names = ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'require', 'Bun', 'Deno']
  const root = tempSite(t, {
    'app/route.ts': `export function GET() { return Response.json(${JSON.stringify(names)}.map((name) => typeof globalThis[name])) }`,
  })
  const server = await startServer(t, { config: `[[sites]]\nid = "a"\nhostnames = ["a.localhost"]\nroot = "${root}"\n` })
  const answer = await fetchHttp(`${server.url}/`, { host: 'a.localhost' })
  assert.deepEqual(
    JSON.parse(answer.text),
    names.map(() => 'undefined'),
  )
})

test('a site sees its own environment and nothing of the host', async (t) => {
  const root = tempSite(t, {
    'app/route.ts': 'export function GET() { return Response.json({ ...process.env }) }',
    '.env': 'FROM_DOTENV=dotenv\nSHARED=dotenv\n',
  })
  const config = `[env]\nSHARED = "table"\n\n[[sites]]\nid = "a"\nhostnames = ["a.localhost"]\nroot = "${root}"\nenv = { OWN = "own" }\n`
  const server = await startServer(t, { config, env: { SECRET_OF_THE_HOST: 'leaked' } })
  const answer = await fetchHttp(`${server.url}/`, { host: 'a.localhost' })
  assert.deepEqual(JSON.parse(answer.text), { NODE_ENV: 'production', SHARED: 'table', OWN: 'own', FROM_DOTENV: 'dotenv' })
})
