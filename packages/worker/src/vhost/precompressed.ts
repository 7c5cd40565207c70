import { encodingClass, negotiateEncoding } from '@svc/http'
import type { PrecompressedSpec } from '@svc/vhosts'
import { termsRequestOf } from '../compression/index.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { FileVersion } from '../static/index.ts'
import { GzipTerms } from './gzip-terms.ts'
import type { Found, WebFiles } from './web-files.ts'

const ENDINGS = { br: '.br', gzip: '.gz' } as const

/** The request that a file is looked for. */
interface Searcher {
  readonly state: { readonly context: Pick<RequestContext, 'request' | 'withdrawFromL0' | 'l0Terms'> }
  readonly tools: { readonly files: WebFiles }
  noteFound(path: string, found: Found): void
}

/** A file that holds another one compressed. */
interface CodedFile {
  readonly path: string
  readonly version: FileVersion
  readonly coding: 'br' | 'gzip'
}

/** Result of the search for a compressed file. */
interface CodedChoice {
  readonly file: CodedFile | undefined
  /** True if the response says that it depends on Accept-Encoding. */
  readonly varies: boolean
}

/** `gzip_static` and `brotli_static` of a location. */
export class Precompressed {
  readonly #spec: PrecompressedSpec
  readonly #terms: GzipTerms

  constructor(spec: PrecompressedSpec) {
    this.#spec = spec
    this.#terms = new GzipTerms(spec.terms)
  }

  /** Looks for a compressed form of a file that this client may get. Parts are cut from the file as it is. */
  choose(run: Searcher, path: string): CodedChoice {
    const { hasVary } = this.#spec.terms
    const { context } = run.state
    let varies = false
    for (const { coding, isAlways } of this.#spec.forms) {
      const name = path + ENDINGS[coding]
      const version = run.tools.files.see(name)
      run.noteFound(name, typeof version === 'string' ? version : 'file')
      if (typeof version === 'string') continue
      if (!isAlways && hasVary) varies = true
      if (!isAlways && coding === 'gzip') this.#noteForL0(context)
      if (isAlways || this.#isAccepted(run, coding, path)) return { file: { path: name, version, coding }, varies }
    }
    return { file: undefined, varies }
  }

  /** Of the codings that a client accepts, L0 knows the one that the server likes best. */
  #noteForL0(context: Searcher['state']['context']): void {
    context.l0Terms = this.#terms
    const best = encodingClass(context.request.header('accept-encoding'))
    if (best !== 'gzip' && best !== 'identity') context.withdrawFromL0()
  }

  #isAccepted({ state: { context }, tools }: Searcher, coding: 'br' | 'gzip', plainPath: string): boolean {
    const { request } = context
    if (negotiateEncoding(request.header('accept-encoding'), [coding]) !== coding) return false
    if (request.header('range') !== undefined && typeof tools.files.see(plainPath) !== 'string') return false
    if (coding === 'br') return true
    const asked = termsRequestOf(request)
    if (this.#terms.isLikeOthers(asked)) return true
    context.withdrawFromL0()
    return this.#terms.excepts(asked, { status: 200, headers: [] })
  }
}
