// Runs alone: it starts render hosts.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Purge } from '@svc/cache'
import { PROCESS_WAIT_MS, tempSite, waitFor } from '@svc/testkit'
import { generationOf, type HostOptions, HostProcess, type Rendered } from './host-process.ts'

/** Pages that log when they are rendered. */
function siteOf(t: TestContext, text: string): string {
  const page = (name: string, more = '', before = '') =>
    `${more}\nexport default async function Page() {\n${before}\nconsole.log('rendered ${text} ${name}')\nreturn <p>${text}</p> }`
  return tempSite(t, {
    'app/page.tsx': page('home'),
    'app/private/page.tsx': page('private', "import { cookies } from 'next/headers'", 'await cookies()'),
    'app/dynamic/page.tsx': page('dynamic', 'export const revalidate = 0'),
    'app/marker/route.ts': "export const GET = (request) => { console.log(request.url); return new Response('') }",
    'app/failing/page.tsx': "export default () => { throw new Error('no backend') }",
    'app/p/[id]/page.tsx': `export const generateStaticParams = () => [{ id: 'a' }, { id: 'b/c' }, { other: 1 }]
export default async function Page({ params }) { const { id } = await params; console.log('rendered ${text} ' + id); return <p>${text} {id}</p> }`,
  })
}

class Deployment {
  readonly host: HostProcess
  readonly #options: HostOptions
  #generation = 1
  #markers = 0

  constructor(host: HostProcess, options: HostOptions) {
    this.host = host
    this.#options = options
  }

  static async start(t: TestContext): Promise<Deployment> {
    const host = await HostProcess.start(t, { sites: [{ id: 'a', root: siteOf(t, 'old') }] })
    await host.render('a', '/')
    return new Deployment(host, { sites: [{ id: 'a', root: siteOf(t, 'new') }] })
  }

  async tryOut(): Promise<void> {
    const spec = generationOf(this.#generation, this.host.cacheDir, this.#options)
    const { problems } = await this.host.master.call('tryOut', { spec }, { timeoutMs: 60_000 })
    assert.deepEqual(
      problems.filter(({ severity }) => severity === 'error'),
      [],
    )
  }

  async swap(): Promise<void> {
    await this.host.serve(++this.#generation, this.#options)
    await this.host.describe('a')
  }

  renderParams(id: string): Promise<Rendered> {
    const route = this.host.manifests.get('a')?.routes.find(({ pattern }) => pattern === '/p/[id]')?.id ?? ''
    return this.host.render('a', `/p/${id}`, { kind: 'page', route, params: { id } })
  }

  async purge(more: Partial<Purge>): Promise<void> {
    const purge: Purge = { number: 1, layers: ['isr'], scopes: [{ kind: 'labels', labels: ['a'] }], mode: 'drop', ...more }
    await this.host.master.call('purge', { purge }, { timeoutMs: 60_000 })
  }

  /** How often pages of the new release have been rendered. Another render marks the end of the log. */
  async times(...names: string[]): Promise<number[]> {
    const marker = `marker-${++this.#markers}`
    await this.host.render('a', '/marker', { kind: 'handler', url: `http://a.example/marker?${marker}` })
    await waitFor('the log', () => this.host.log.includes(marker), PROCESS_WAIT_MS)
    return names.map((name) => this.host.log.split(`rendered new ${name}"`).length - 1)
  }
}

test('known pages of a release are rendered before the swap, and each is given to the first request for it', async (t) => {
  const deployment = await Deployment.start(t)
  const { host } = deployment
  await deployment.tryOut()
  assert.deepEqual(await deployment.times('home', 'a', 'b/c'), [1, 1, 1])
  assert.match(host.log, /failed to render pages of a release \(1\): \/failing: status 500/)
  assert.match((await host.render('a', '/')).text, /old/)
  await deployment.swap()
  const first = await host.render('a', '/')
  assert.equal(first.status, 200)
  assert.match(first.text, /<p>new<\/p>/)
  const ofParams = await deployment.renderParams('a')
  assert.match(ofParams.text, /new (<!-- -->)?a/)
  assert.deepEqual(await deployment.times('home', 'a'), [1, 1])
  await host.render('a', '/')
  assert.deepEqual(await deployment.times('home', 'a'), [2, 1])
})

test('pages that depend on their request, or must not be stored, and other requests, are rendered', async (t) => {
  const deployment = await Deployment.start(t)
  const { host } = deployment
  await deployment.tryOut()
  await deployment.swap()
  for (const path of ['/private', '/dynamic', '/?q=1']) assert.equal((await host.render('a', path)).status, 200)
  await host.render('a', '/', { method: 'HEAD' })
  assert.deepEqual(await deployment.times('private', 'dynamic', 'home'), [2, 2, 3])
})

test('the purge of the swap leaves pages that were rendered ahead, and any other purge drops them', async (t) => {
  const deployment = await Deployment.start(t)
  const { host } = deployment
  await deployment.tryOut()
  await deployment.swap()
  await deployment.purge({ changedCode: ['a'] })
  await host.render('a', '/')
  assert.deepEqual(await deployment.times('home'), [1])
  await deployment.purge({ number: 2, scopes: [{ kind: 'tags', tags: ['route:a:posts'] }] })
  await deployment.renderParams('a')
  assert.deepEqual(await deployment.times('a'), [2])
})

test('an edit of the files after the swap drops pages that were rendered ahead', async (t) => {
  const deployment = await Deployment.start(t)
  const { host } = deployment
  await deployment.tryOut()
  await deployment.swap()
  await host.master.call('siteChanged', { site: 'a', files: [] }, { timeoutMs: 60_000 })
  await host.describe('a')
  await host.render('a', '/')
  assert.deepEqual(await deployment.times('home'), [2])
})
