import { join } from 'node:path'
import { after } from 'node:test'
import { compileRoutes, type Route, type SiteManifest } from '@svc/site'
import { scanSite } from '@svc/site/scan'
import { type Cleanup, tempSite } from '@svc/testkit'
import type { BeginKind, BeginRequest, GuestSettings } from '../../src/contract/isolate.ts'
import { type Answer, buildGuestForTest, IsolateHarness } from '../harness/isolate-harness.ts'
import { type RouterAnswer, routerAnswer } from './router-answer.ts'

export type Ask = Partial<BeginRequest> & { readonly body?: string; readonly host?: string; readonly kind?: BeginKind }

/** How long a request of a test may take: it ends what hangs, and a loaded machine must not reach it. */
const deadlineMs = 60_000

/** A site of a test: scanned by the real scanner, matched by the real route table, run by the built guest in an isolate. */
export class RouterSite {
  readonly manifest: SiteManifest
  readonly isolate: Promise<IsolateHarness>

  constructor(root: string, isolate: Promise<IsolateHarness>) {
    this.manifest = scanSite({ root })
    this.isolate = isolate
  }

  /** Sends a request to what the path leads to, or to what `kind` names, and waits for the end of its answer. */
  async ask(path: string, ask: Ask = {}): Promise<RouterAnswer> {
    const { answer } = await this.begin(path, ask)
    await answer.ended.within(deadlineMs, `answer of ${path}`)
    return routerAnswer(answer)
  }

  /** Like `ask`, without waiting. */
  async begin(path: string, ask: Ask = {}): Promise<{ number: number; answer: Answer; isolate: IsolateHarness }> {
    const isolate = await this.isolate
    const { body, host = 'site.test', kind, ...change } = ask
    const url = `http://${host}${path}`
    const match = kind === undefined ? compileRoutes(this.manifest).match(new URL(url).pathname) : undefined
    const found = match !== undefined && match.redirect === undefined ? match : undefined
    const { globalError } = this.manifest
    const route = { ...(found?.route ?? this.#unrouted(kind)), globalError }
    await isolate.enter('defineRoute', JSON.stringify(route))
    const params = (found?.params ?? {}) as BeginRequest['params']
    const request = { url, params, mayStream: false, hasBody: body !== undefined, ...change }
    const begun = isolate.begin(kind ?? found?.route.kind ?? 'not-found', route.id, request)
    if (body !== undefined) {
      const bytes = new TextEncoder().encode(body)
      await isolate.enter('bodyChunk', begun.number, bytes.buffer)
      await isolate.enter('bodyChunk', begun.number, undefined)
    }
    return { ...begun, isolate }
  }

  #unrouted(kind: BeginKind | undefined): Route {
    const { middleware, notFound } = this.manifest
    const bare = { id: 'svc:none', pattern: '', segments: [], metadata: null, slotParams: [], hasStaticParams: false } as const
    if (kind === 'middleware') return { ...bare, kind: 'handler', file: middleware?.file ?? '', tree: null }
    return { ...bare, kind: 'page', file: '', tree: notFound }
  }
}

/** Opens a site of these files in an isolate of its own. */
export type OpenSite = (t: Cleanup, files: Readonly<Record<string, string>>, settings?: Partial<GuestSettings>) => RouterSite

/** Builds the guest once for a test file. */
export async function routerSites(): Promise<OpenSite> {
  const cleanup: Cleanup = { after: (task) => after(() => (task as () => void)()) }
  const dir = await buildGuestForTest(cleanup)
  return (t, files, settings) => {
    const root = tempSite(t, files)
    return new RouterSite(root, startSite(t, dir, { root, files, settings: settings ?? {} }))
  }
}

interface SiteSource {
  readonly root: string
  readonly files: Readonly<Record<string, string>>
  readonly settings: Partial<GuestSettings>
}

async function startSite(t: Cleanup, dir: string, { root, files, settings }: SiteSource): Promise<IsolateHarness> {
  const isolate = await IsolateHarness.start(t, dir, { settings: { env: {}, ...settings } })
  for (const [name, source] of Object.entries(files)) {
    const id = join(root, name)
    if (name.endsWith('.css')) await isolate.defineCode(id, 'css', {}, JSON.stringify({ css: source, classes: {} }))
    else if (/\.[jt]sx?$/.test(name)) await isolate.define(id, source)
  }
  return isolate
}
