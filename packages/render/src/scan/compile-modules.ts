import { SiteCompiler, SiteResolver } from '@svc/compile'
import { CompileError, formatSource, ModuleCache } from '@svc/compile/caches'
import { type ReplyOf, type RequestOf, toWire } from '@svc/core'
import type { scanMethods } from '../contract/scan-methods.ts'

type CompileRequest = RequestOf<typeof scanMethods.compile>
type CompileReply = ReplyOf<typeof scanMethods.compile>
type ModuleResult = CompileReply['modules'][number]

/** Views that a process keeps. A site has one for each of its threads. */
const MAX_VIEWS = 8
/** The largest barrel files of packages have some ten thousand imports. The reply goes through the main thread of the host. */
const MAX_IMPORTS = 50_000

interface View {
  readonly cache: ModuleCache
  readonly compiler: SiteCompiler
  /** By file, why its last good version is used instead. */
  readonly lastGood: Map<string, string>
}

/** Compiles modules of sites for their render threads. */
export class ModuleCompilers {
  /** In the order of their last use. */
  readonly #views = new Map<string, View>()

  /** Never rejects: each module has its own error. */
  async compile(request: CompileRequest): Promise<CompileReply> {
    const { ids } = request.modules
    try {
      const view = this.#viewOf(request)
      return { modules: await Promise.all(ids.map((id) => compileOne(view, id))) }
    } catch (error) {
      // The directory of the site is gone.
      return { modules: ids.map(() => ({ error: toWire(error) })) }
    }
  }

  /** @throws ENOENT */
  #viewOf({ root, mode, cacheDirs, modules }: CompileRequest): View {
    const key = JSON.stringify([root, mode, cacheDirs, modules.view])
    const view = this.#views.get(key) ?? newView(root, mode, cacheDirs)
    this.#views.delete(key)
    this.#views.set(key, view)
    for (const oldest of this.#views.keys()) if (this.#views.size > MAX_VIEWS) this.#views.delete(oldest)
    return view
  }
}

function newView(root: string, mode: CompileRequest['mode'], dirs: CompileRequest['cacheDirs']): View {
  const cache = new ModuleCache(dirs)
  const lastGood = new Map<string, string>()
  const onLastGood = (file: string, error: Error) => void lastGood.set(file, error.message)
  return { cache, lastGood, compiler: new SiteCompiler({ resolver: new SiteResolver(root), cache, mode, onLastGood }) }
}

async function compileOne({ cache, compiler, lastGood }: View, id: string): Promise<ModuleResult> {
  try {
    const module = await compiler.load(id)
    const { hash, dependencies } = module
    if (Object.keys(dependencies).length > MAX_IMPORTS) {
      throw new CompileError('RENDER_RESOLVE', `${id}: more than ${MAX_IMPORTS} imports, the limit for a module`)
    }
    const why = lastGood.get(id)
    lastGood.delete(id)
    return {
      hash,
      dependencies,
      ...(why === undefined ? {} : { lastGood: why }),
      ...(cache.hasCompiled(hash) ? {} : { uncached: { text: formatSource(module.source), maps: [...module.source.maps] } }),
    }
  } catch (error) {
    return { error: toWire(error) }
  }
}
