import { basename, dirname } from 'node:path'
import { type HeaderList, type HttpExchange, type Problem, problemOf, problemResponse } from '@svc/http'
import { StaticError } from '../errors/errors.ts'
import { FileHandler, type FileHandlerOptions, type FileTarget, isFile, type WholeFileL0 } from './file-handler.ts'
import type { FileVersion } from './file-source.ts'
import { fileNameOf, PublicRoot } from './public-root.ts'
import { findResource } from './variant.ts'

/** How files are served. */
interface StaticFilesOptions extends FileHandlerOptions {
  /** Absolute path of the public directory; it may be missing, or a link. */
  readonly root: string
  /** True if `index.html` answers for its directory: for sites that are only files. @default false */
  readonly hasIndex?: boolean
}

/** The exchange of a request for a file. */
type StaticExchange = Pick<HttpExchange, 'request' | 'respond' | 'stream' | 'onClosed'>

/** `served`: the request was answered. `missing`: there is no such file. */
type StaticOutcome = 'served' | 'missing'

/** A file below a root. */
interface StaticFile {
  readonly root: PublicRoot
  readonly name: string
  readonly l0: WholeFileL0 | undefined
  /** @default by the extension */
  readonly contentType?: string
}

const INDEX = 'index.html'
const refusals: readonly Problem[] = [
  { status: 405, code: 'method_not_allowed' },
  { status: 412, code: 'precondition_failed' },
  { status: 416, code: 'range_not_satisfiable' },
]
const changed: Problem = problemOf(new StaticError('STATIC_FILE_CHANGED', 'a file kept changing while it was being read'))

/**
 * The files of a public directory. Every request looks at the file on disk, so an edited file is seen at once; memory only
 * saves the reading. Synchronous up to the first byte of a large file. Holds nothing open between requests.
 */
export class StaticFiles {
  readonly #root: PublicRoot
  readonly #handler: FileHandler
  readonly #hasIndex: boolean
  readonly #onProblem: (error: Error) => void

  constructor(options: StaticFilesOptions) {
    this.#root = new PublicRoot(options.root, options.onProblem)
    this.#handler = new FileHandler(options)
    this.#hasIndex = options.hasIndex === true
    this.#onProblem = options.onProblem
  }

  /** True if a normalised URL path names a file that would be served. */
  has(path: string): boolean {
    const name = this.#nameOf(path)
    return name !== undefined && isFile(this.#root.find(name))
  }

  /** Answers with the file that a normalised URL path names, if there is one. `missing`: nothing was sent. At once on a local disk. */
  serve(exchange: StaticExchange, path: string, l0?: WholeFileL0): StaticOutcome {
    const name = this.#nameOf(path)
    if (name === undefined) return 'missing'
    const found = this.#root.find(name)
    if (isFile(found)) return this.#answer(exchange, { root: this.#root, name, l0 }, found)
    if (found === 'directory' && this.#hasIndex && isFile(this.#root.find(`${name}/${INDEX}`))) {
      return redirect(exchange, `${path}/`)
    }
    return 'missing'
  }

  /**
   * Answers with one file by its absolute path, below the root or not: the caller vouches for it. Answers 404
   * when it is gone.
   */
  serveFile(exchange: StaticExchange, file: string, contentType: string, l0?: WholeFileL0): void {
    const root = new PublicRoot(dirname(file), this.#onProblem)
    const name = basename(file)
    const found = root.find(name)
    const outcome = isFile(found) ? this.#answer(exchange, { root, name, contentType, l0 }, found) : 'missing'
    if (outcome === 'missing') refuse(exchange, { status: 404, code: 'not_found' })
  }

  /** Name of the file for a path: directories stand for their index, where there is one. */
  #nameOf(path: string): string | undefined {
    const name = fileNameOf(path)
    if (name === undefined || !(name === '' || name.endsWith('/'))) return name
    return this.#hasIndex ? name + INDEX : undefined
  }

  #answer(exchange: StaticExchange, file: StaticFile, found: FileVersion): StaticOutcome {
    return this.#handler.answer(exchange, targetOf(exchange, file), found) ? 'served' : 'missing'
  }
}

function targetOf(exchange: StaticExchange, { root, name, l0, contentType }: StaticFile): FileTarget {
  return {
    source: root,
    name,
    l0,
    describe: describer(root, name, contentType),
    refuse: (status, headers) => refuse(exchange, refusals.find((known) => known.status === status) ?? changed, headers),
  }
}

function describer(root: PublicRoot, name: string, contentType: string | undefined): FileTarget['describe'] {
  return (version) => {
    const resource = findResource(root, name, version)
    return contentType === undefined ? resource : { ...resource, contentType }
  }
}

function redirect(exchange: StaticExchange, path: string): StaticOutcome {
  const { query } = exchange.request
  exchange.respond({ status: 308, headers: [['location', query === '' ? path : `${path}?${query}`]] })
  return 'served'
}

function refuse(exchange: StaticExchange, problem: Problem, headers: HeaderList = []): void {
  const { head, body } = problemResponse(problem, exchange.request.header('accept'), headers)
  exchange.respond(head, body)
}
