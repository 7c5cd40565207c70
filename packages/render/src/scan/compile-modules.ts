import { SiteCompiler, SiteResolver } from '@svc/compile'
import { CompileError, formatSource, ModuleCache } from '@svc/compile/caches'
import { type ReplyOf, type RequestOf, toWire, type WireError } from '@svc/core'
import type { scanMethods } from '../contract/scan-methods.ts'

type CompileRequest = RequestOf<typeof scanMethods.compile>
type CompileReply = ReplyOf<typeof scanMethods.compile>
type ModuleResult = CompileReply['modules'][number]

/** Views that a process keeps. A site has one for each of its threads. */
const MAX_VIEWS = 8
/** The largest barrel files of packages have some ten thousand imports, each with a path. */
const MAX_IMPORT_CHARS = 8 * 1024 * 1024
/** Of a reply, which goes through the main thread of the host: modules that do not fit are left out, and asked for again. */
const MAX_REPLY_CHARS = 8 * 1024 * 1024
/** Of a message; one about a place in a source is far shorter. */
const MAX_MESSAGE_CHARS = 16_384

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
      return { modules: fitting(await Promise.all(ids.map((id) => compileOne(view, id)))) }
    } catch (error) {
      // The directory of the site is gone.
      return { modules: ids.map(() => ({ error: wireOf(error) })) }
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
    if (charsOf(dependencies) > MAX_IMPORT_CHARS) {
      throw new CompileError('RENDER_RESOLVE', `${id}: its imports have more than ${MAX_IMPORT_CHARS} characters`)
    }
    const why = lastGood.get(id)
    lastGood.delete(id)
    return {
      hash,
      dependencies,
      ...(why === undefined ? {} : { lastGood: why.slice(0, MAX_MESSAGE_CHARS) }),
      ...(cache.hasCompiled(hash) ? {} : { uncached: { text: formatSource(module.source), maps: [...module.source.maps] } }),
    }
  } catch (error) {
    return { error: wireOf(error) }
  }
}

/** The stack is one of this process, and of no use to the author of the site. */
function wireOf(error: unknown): WireError {
  const { stack: _stack, ...wire } = toWire(error)
  return { ...wire, message: wire.message.slice(0, MAX_MESSAGE_CHARS) }
}

/** Empties the results that do not fit into a reply. The first one always does. */
function fitting(results: readonly ModuleResult[]): ModuleResult[] {
  let room = MAX_REPLY_CHARS
  return results.map((result, at) => {
    const { dependencies = {}, uncached, error } = result
    const texts = [uncached?.text, ...(uncached?.maps ?? []), error?.message].reduce((sum, text) => sum + (text?.length ?? 0), 0)
    room -= charsOf(dependencies) + texts
    return at === 0 || room >= 0 ? result : {}
  })
}

function charsOf(texts: Readonly<Record<string, string>>): number {
  let sum = 0
  for (const [key, value] of Object.entries(texts)) sum += key.length + value.length
  return sum
}
