import { realpathSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import { ModuleCache, moduleFilter } from '@svc/compile/caches'
import { asError, codeOf, toWire, type WireError } from '@svc/core'
import type { ModulePurge } from '@svc/protocol'
import {
  type HostToThread,
  noOrigin,
  type RenderResult,
  type RenderTask,
  type ThreadBase,
  type ThreadSettings,
} from '../contract/thread-messages.ts'
import { RenderError } from '../errors/errors.ts'
import { wireOf } from './active-request.ts'
import { CompileClient } from './compile-client.ts'
import { DataClient } from './data/data-client.ts'
import { devErrorAnswer } from './dev-error-answer.ts'
import { readGuestFiles } from './guest-files.ts'
import { PreparedIsolate } from './prepared-isolate.ts'
import { SiteSession } from './site-session.ts'
import { ThreadLink } from './thread-link.ts'

/** In how many isolates a request may wait in vain behind another that ruins it. */
const MAX_TRIES = 3

/** Parts of a thread that exist before it has a site. */
interface ThreadStart {
  readonly isolate: PreparedIsolate
  /** The host's side, which serves the calls of the site. */
  readonly services: MessagePort
}

/** Runs one site in a render thread, in at most one isolate at a time. */
class SiteThread {
  readonly #link: ThreadLink
  readonly #start: ThreadStart
  /** Real path of the site's directory. */
  readonly #root: string
  readonly #cache: ModuleCache
  readonly #compiler: CompileClient
  readonly #data: DataClient
  #settings: ThreadSettings
  #session: Promise<SiteSession> | undefined
  #current: SiteSession | undefined
  /** Requests that were aborted before they reached the isolate. */
  readonly #aborted = new Set<number>()
  readonly #running = new Set<number>()

  /** @throws ENOENT when the site's directory is gone */
  constructor(settings: ThreadSettings, port: MessagePort, start: ThreadStart) {
    this.#settings = settings
    this.#start = start
    this.#root = realpathSync.native(settings.root)
    this.#cache = new ModuleCache(settings.cacheDirs)
    this.#link = new ThreadLink(port, (message) => this.#received(message))
    this.#data = new DataClient({
      port: start.services,
      handlers: {
        purgeModules: (purge) => this.#purgeModules(purge),
        modules: () => ({ modules: this.#current?.modules.graph.list() ?? [] }),
        heapSnapshot: async (target) => ({ bytes: await this.#current?.heapSnapshot(target) }),
      },
      onProblem: (error) => this.#link.log('error', noOrigin, error.message),
    })
    this.#compiler = new CompileClient({
      cache: this.#cache,
      compile: (view, ids) => this.#data.compile(view, ids),
      onLastGood: (file, message) => this.#link.log('error', noOrigin, `${message}; the last good version of ${file} is served`),
    })
  }

  /** Runs a task of the pool; results go over the link. Never rejects. */
  async run(tasks: readonly RenderTask[]): Promise<void> {
    await Promise.all(tasks.map((task) => this.#answer(task)))
  }

  async #answer(task: RenderTask): Promise<void> {
    const result = await this.#run(task)
    if (result.kind === 'streamed') return
    const shown = result.kind === 'failed' ? this.#shownError(result.error, task) : undefined
    this.#link.result(task.number, shown ?? result)
  }

  #shownError(error: WireError, task: RenderTask): RenderResult | undefined {
    const { mode } = this.#settings
    const isLoaded = (file: string) => this.#current?.modules.graph.has(file) === true
    return devErrorAnswer(error, task, { root: this.#root, mode, isLoaded })
  }

  async #run(task: RenderTask): Promise<RenderResult> {
    this.#running.add(task.number)
    try {
      for (let tries = 1; ; tries++) {
        const session = this.#current ?? (await this.#openSession())
        if (this.#aborted.has(task.number)) return { kind: 'aborted' }
        const result = await session.run(task)
        if (result.kind !== 'untouched') return result
        if (tries === MAX_TRIES) throw new RenderError('RENDER_ISOLATE_LOST', 'the isolate crashed on every attempt')
      }
    } catch (error) {
      return { kind: 'failed', error: wireOf(asError(error)) }
    } finally {
      this.#running.delete(task.number)
      this.#aborted.delete(task.number)
    }
  }

  async #openSession(): Promise<SiteSession> {
    this.#session ??= this.#createSession()
    const opening = this.#session
    try {
      return await opening
    } catch (error) {
      if (this.#session === opening) this.#session = undefined
      throw error
    }
  }

  async #createSession(): Promise<SiteSession> {
    const { site, mode, env } = this.#settings
    const { isolate } = this.#start
    const startedAt = performance.now() - isolate.headStartMs
    const session: SiteSession = await SiteSession.create({
      settings: this.#settings,
      guestSettings: { site, mode, env },
      prepared: isolate,
      compiler: this.#compiler,
      cache: this.#cache,
      link: this.#link,
      data: this.#data,
      onLost: () => {
        this.#current = undefined
        this.#session = undefined
      },
    })
    this.#current = session
    this.#link.post({ t: 'built', buildMs: performance.now() - startedAt })
    return session
  }

  #received(message: HostToThread): void {
    switch (message.t) {
      case 'assign':
        // Taken before this thread knew its site.
        break
      case 'abort':
        if (this.#running.has(message.number)) this.#aborted.add(message.number)
        this.#current?.abort(message.number)
        break
      case 'hold':
        this.#current?.hold(message.number)
        break
      case 'resume':
        this.#current?.resume(message.number)
        break
      case 'body':
        this.#current?.body(message.number, message.bytes)
        break
      case 'update':
        this.#update(message).catch((error: unknown) => this.#link.log('error', noOrigin, JSON.stringify(toWire(error))))
        break
      case 'measure':
        void this.#measure()
        break
      case 'close':
        this.#close().catch((error: unknown) => this.#link.log('error', noOrigin, String(codeOf(error))))
        break
    }
  }

  async #update({ manifest, files }: Extract<HostToThread, { t: 'update' }>): Promise<void> {
    this.#settings = { ...this.#settings, manifest }
    this.#compiler.clear()
    const session = this.#current ?? (await this.#session)
    const evicted = await session?.modules.update(manifest, files)
    this.#link.post({ t: 'updated', evicted: [...(evicted ?? [])] })
  }

  /** Never rejects. */
  async #measure(): Promise<void> {
    // The isolate may end meanwhile.
    const heapBytes = await this.#current?.heapBytes().catch(() => undefined)
    this.#link.post({ t: 'measured', heapBytes })
  }

  /** Forgets compiled modules, and where imports lead. */
  async #purgeModules(purge: ModulePurge): Promise<{ evicted: number }> {
    this.#compiler.clear()
    const session = this.#current ?? (await this.#session)
    return { evicted: (await session?.modules.evict(moduleFilter(purge))) ?? 0 }
  }

  async #close(): Promise<void> {
    const session = this.#current ?? (await this.#session)
    await session?.close()
    this.#link.post({ t: 'closed' })
  }
}

/** A render thread from its start on: with everything loaded and an isolate started, it waits to be told its site. */
export class WaitingThread {
  readonly #site = Promise.withResolvers<SiteThread>()

  /** @throws RENDER_GUEST */
  constructor(base: ThreadBase, port: MessagePort) {
    const isolate = new PreparedIsolate(base, readGuestFiles(base.guestDir))
    port.once('message', (message: HostToThread) => {
      if (message.t !== 'assign') return
      const { settings, services } = message
      this.#site.resolve(new SiteThread(settings, port, { isolate, services }))
    })
  }

  /** Runs a task of the pool, as soon as the site is known. */
  async run(tasks: readonly RenderTask[]): Promise<void> {
    const site = await this.#site.promise
    await site.run(tasks)
  }
}
