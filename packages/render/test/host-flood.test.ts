// Campaign: floods of fetches, timers and streams.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { PROCESS_WAIT_MS, tempSite, waitFor } from '@svc/testkit'
import { HostProcess } from './host-process.ts'

const FLOOD = 20_000
/** Documented limits of fetches in flight in one isolate, and of those that run at once. */
const MOST_BEGUN = 4_096
const MOST_RUNNING = 256

/** A site that keeps its isolate's age in a module, so that a page shows whether it is still the same one. */
function flooding(t: TestContext, page: string): string {
  return tempSite(t, {
    'state.ts': 'export const state = { floods: 0 }',
    'app/page.tsx': `import { state } from '../state'\n${page}`,
    'app/floods/page.tsx': "import { state } from '../../state'\nexport default () => <p>floods {state.floods}</p>",
  })
}

async function hostWith(t: TestContext, root: string, fetch_allow: string[] = []): Promise<HostProcess> {
  const good = tempSite(t, { 'app/page.tsx': 'export default () => <p>good</p>' })
  const sites = [
    { id: 'bad', root, fetch_allow },
    { id: 'good', root: good },
  ]
  const host = await HostProcess.start(t, { render: { timeout_ms: 30_000 }, sites })
  await host.render('good', '/')
  return host
}

const plain = (text: string) => text.replaceAll('<!-- -->', '')

test('twenty thousand refused fetches at once cost neither their isolate nor a neighbour anything', async (t) => {
  const page = `export default async function Page() {
  state.floods++
  const fetches = Array.from({ length: ${FLOOD} }, (_, i) => fetch('http://127.0.0.1:1/' + i).then(() => 'done', (error) => error.message))
  const messages = await Promise.all(fetches)
  const count = (pattern: RegExp) => messages.filter((text) => pattern.test(text)).length
  return <p>{count(/not a public address/)} refused, {count(/fetches of this site are in flight already/)} too many</p>
}`
  const host = await hostWith(t, flooding(t, page))
  const flooded = host.render('bad', '/')
  for (let i = 0; i < 5; i++) assert.match((await host.render('good', '/')).text, /good/)
  assert.match(plain((await flooded).text), new RegExp(`${MOST_BEGUN} refused, ${FLOOD - MOST_BEGUN} too many`))
  assert.match(plain((await host.render('bad', '/floods')).text), /floods 1/)
  assert.deepEqual(host.losses, [])
})

test('fetches of an aborted request leave no trace in its isolate, however many there were', async (t) => {
  let open = 0
  let most = 0
  const server = createServer((request, response) => {
    if (request.url === '/fine') {
      response.end('fine')
      return
    }
    most = Math.max(most, ++open)
    response.on('close', () => open--)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const page = `export default async function Page() {
  if (state.floods++ > 0) return <p>{await fetch('http://${address}/fine').then((answer) => answer.text())}</p>
  const pages = Array.from({ length: ${4 * MOST_RUNNING} }, (_, i) => fetch('http://${address}/hang?' + i))
  console.log('the flood has begun')
  await Promise.allSettled(pages)
  await new Promise(() => undefined)
}`
  const host = await hostWith(t, flooding(t, page), [address])
  const call = host.worker.open('render', await host.request('bad', '/'), { timeoutMs: 30_000 })
  await waitFor('the flood', () => open > 0 && host.log.includes('the flood has begun'), PROCESS_WAIT_MS)
  assert.match((await host.render('good', '/')).text, /good/)
  call.abort()
  await assert.rejects(call.reply, { code: 'CORE_ABORTED' })
  // The end of the flood comes by another way than the next request does.
  await waitFor(
    'places for other fetches',
    async () => (await host.render('bad', '/').catch(() => undefined))?.status === 200,
    PROCESS_WAIT_MS,
  )
  assert.match((await host.render('bad', '/')).text, /fine/)
  assert.ok(most <= MOST_RUNNING, `${most} fetches at once`)
  assert.deepEqual(host.losses, [])
})
