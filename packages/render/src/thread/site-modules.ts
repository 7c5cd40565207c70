import type { ModuleCache } from '@svc/compile/caches'
import { messageOf } from '@svc/core'
import { cutLine, type InspectRequest } from '@svc/guest'
import type { Route, SiteManifest } from '@svc/site'
import { noOrigin, type RenderTask, type ThreadSettings } from '../contract/thread-messages.ts'
import type { CompileClient } from './compile-client.ts'
import type { GuestIsolate } from './guest-isolate.ts'
import type { ModuleGraph } from './module-graph.ts'
import { ModuleLoader } from './module-loader.ts'
import { filesOfRoute, imageFilesOf, routeById, routeIdOf } from './route-files.ts'
import { mapStack } from './stack-mapper.ts'
import type { ThreadLink } from './thread-link.ts'

/** Options of `SiteModules`. */
interface SiteModulesOptions {
  readonly settings: ThreadSettings
  readonly isolate: GuestIsolate
  readonly compiler: CompileClient
  readonly cache: ModuleCache
  readonly link: ThreadLink
}

/** The routes of a site, with their modules, as far as one isolate has them. */
export class SiteModules {
  readonly #isolate: GuestIsolate
  readonly #link: ThreadLink
  readonly #loader: ModuleLoader
  /** Routes that are defined, with all their modules. */
  readonly #ready = new Set<string>()
  /** Modules of images that could not be loaded. */
  readonly #skippedFiles = new Set<string>()
  #manifest: SiteManifest

  constructor({ settings, isolate, link, compiler, cache }: SiteModulesOptions) {
    this.#isolate = isolate
    this.#link = link
    this.#manifest = settings.manifest
    this.#loader = new ModuleLoader({
      compiler,
      cache,
      isolate,
      memoryLimitMb: settings.memoryLimitMb,
      onWarning: (text) => link.log('warn', noOrigin, cutLine(text)),
      onEvict: () => this.#ready.clear(),
    })
  }

  /** The compiled modules in the isolate. */
  get graph(): ModuleGraph {
    return this.#loader.graph
  }

  /** A stack trace with positions of the sources. */
  mapped(stack: string): string {
    return mapStack(stack, (id) => this.graph.get(id)?.maps)
  }

  loadInspected(task: RenderTask): Promise<void> {
    return this.#loader.load((JSON.parse(task.begin) as InspectRequest).modules)
  }

  /** Defines the route of a request. undefined: it is, which is so for all but the first request of a route. */
  define(task: RenderTask): Promise<void> | undefined {
    const id = routeIdOf(task.kind, task.route)
    return this.#ready.has(id) ? undefined : this.#define(id)
  }

  async #define(id: string): Promise<void> {
    const manifest = this.#manifest
    const route = routeById(manifest, id)
    let evictions: number
    do {
      evictions = this.#loader.evictions
      await this.#load(route, manifest)
    } while (evictions !== this.#loader.evictions)
    await this.#isolate.enter('defineRoute', JSON.stringify(route))
    // It may have changed meanwhile, and this definition may have replaced a newer one.
    if (manifest === this.#manifest && evictions === this.#loader.evictions) this.#ready.add(id)
    else this.#ready.delete(id)
  }

  /**
   * Loads the modules of a route. A page goes on without the modules of its images: they only add tags to its head.
   * @throws RENDER_COMPILE, RENDER_RESOLVE for any other module
   */
  async #load(route: Route, manifest: SiteManifest): Promise<void> {
    const files = filesOfRoute(route, manifest)
    const images = imageFilesOf(route)
    try {
      await this.#loader.load(files)
      return
    } catch (error) {
      if (images.size === 0) throw error
    }
    // All at once is the usual case; only here it has to be known which of them it was.
    await this.#loader.load(files.filter((file) => !images.has(file)))
    for (const file of images) {
      try {
        await this.#loader.load([file])
      } catch (error) {
        // Logged once, until files change.
        if (!this.#skippedFiles.has(file))
          this.#link.log('error', noOrigin, `${messageOf(error)}; pages go on without the tags of ${file}`)
        this.#skippedFiles.add(file)
      }
    }
  }

  /** Takes in that files have changed. Returns the modules that were evicted. */
  async update(manifest: SiteManifest, files: readonly string[]): Promise<ReadonlySet<string>> {
    const evicted = await this.#loader.update(files)
    const isOther = manifest.version !== this.#manifest.version
    this.#manifest = manifest
    if (this.#skippedFiles.size > 0) {
      // No module stands for them whose eviction would show that they can be loaded now.
      this.#skippedFiles.clear()
      this.#ready.clear()
    }
    if (isOther) {
      // Before it is entered: a request that looks from now on defines its route again, and that comes after this in the isolate.
      this.#ready.clear()
      await this.#isolate.enter('forgetRoutes')
    }
    return evicted
  }

  /** Forgets modules, with everything that imports them. Returns how many there were. */
  async evict(isMeant: (id: string) => boolean): Promise<number> {
    return (await this.#loader.evict(isMeant)).size
  }
}
