import { randomBytes } from 'node:crypto'
import { closeSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import {
  type HeaderList,
  type HttpExchange,
  type HttpRequest,
  type Problem,
  problemOf,
  problemResponse,
  type ResponseHead,
} from '@svc/http'
import { type AnswerPlan, type BodyPiece, type ContentPlan, planAnswer, planWhole } from './answer-plan.ts'
import { StaticError } from './errors.ts'
import { type FileFacts, factsOf } from './file-facts.ts'
import { fileNameOf } from './file-name.ts'
import { type FileReceiver, sendFile } from './file-sender.ts'
import { type OpenFile, PublicRoot } from './public-root.ts'
import { SmallFileCache } from './small-file-cache.ts'
import { chooseVariant, findResource, type StaticResource, type Variant } from './variant.ts'
import { readWhole } from './whole-file.ts'

/** How files are served. */
export interface StaticFilesOptions {
  /** Absolute path of the public directory; it may be missing, or a link. */
  readonly root: string
  /** Whether `index.html` answers for its directory: for sites that are only files. @default false */
  readonly hasIndex?: boolean
  /** Files up to this size are read at once and kept in memory; larger ones are streamed. @default 65536 */
  readonly maxInlineBytes?: number
  /** Memory for the contents of small files in bytes. @default 2097152 */
  readonly maxCacheBytes?: number
  /** Wall clock in milliseconds. @default the clock of the machine */
  readonly now?: () => number
  /** Told about files that cannot be read or that change while they are sent. */
  readonly onProblem: (error: Error) => void
}

/** Whether a request was answered, or there is no such file. */
export type StaticOutcome = 'served' | 'missing'

const refusals = {
  'bad-method': { status: 405, code: 'method_not_allowed' },
  'precondition-failed': { status: 412, code: 'precondition_failed' },
  unsatisfiable: { status: 416, code: 'range_not_satisfiable' },
} as const satisfies Record<string, Problem>

/** A whole file that its client does not get, since it has it already or asks for the head alone. */
export interface UnsentFile {
  readonly head: ResponseHead
  /** Size of the form that would be sent. */
  readonly bytes: number
  /** Sends it, at once or later. False: it has changed and was not sent. */
  send(receiver: FileReceiver): boolean
}

/** Keeps whole files to answer with them again. Owned by the static files; all calls are synchronous and must not throw. */
export interface WholeFileKeeper {
  /**
   * Told, before anything is sent, of a file that the request asks for as a whole and that will be answered with the same until
   * it changes, which `isCurrent` finds out. Not told of files that have only just changed.
   * @returns whether it is wanted
   */
  offer(isCurrent: () => boolean): boolean
  /** What was wanted is not sent to the client. */
  unsent(file: UnsentFile): void
}

/** A file to answer with. */
interface Target {
  readonly root: PublicRoot
  readonly name: string
  readonly keeper: WholeFileKeeper | undefined
  /** @default what the extension says */
  readonly contentType?: string
}

const INDEX = 'index.html'
/** Tries to answer with a file that is being written just now. */
const MAX_ATTEMPTS = 3
/** A file younger than this may change again without a new time of change: file systems count in ticks. */
const MIN_CACHED_AGE_MS = 1000

/** Makes the files below a directory servable. Holds nothing open between requests. */
export function createStaticFiles(options: StaticFilesOptions): StaticFiles {
  return new StaticFiles(options)
}

/**
 * The files of a public directory. Every request looks at the file on disk, so an edited file is seen at once; memory only
 * saves the reading. Synchronous up to the first byte of a large file.
 */
export class StaticFiles {
  readonly #root: PublicRoot
  readonly #cache: SmallFileCache
  readonly #maxInlineBytes: number
  readonly #hasIndex: boolean
  readonly #now: () => number
  readonly #onProblem: (error: Error) => void

  constructor(options: StaticFilesOptions) {
    const {
      root,
      hasIndex = false,
      maxInlineBytes = 65_536,
      maxCacheBytes = 2_097_152,
      now = () => Date.now(),
      onProblem,
    } = options
    this.#root = new PublicRoot(root, onProblem)
    this.#cache = new SmallFileCache(maxCacheBytes)
    this.#maxInlineBytes = maxInlineBytes
    this.#hasIndex = hasIndex
    this.#now = now
    this.#onProblem = onProblem
  }

  /** Whether a normalised URL path names a file that would be served. */
  has(path: string): boolean {
    const name = this.#nameOf(path)
    return name !== undefined && isFile(this.#root.find(name))
  }

  /** Answers with the file that a normalised URL path names, if there is one. `missing`: nothing was sent. At once on a local disk. */
  serve(exchange: HttpExchange, path: string, keeper?: WholeFileKeeper): StaticOutcome {
    const name = this.#nameOf(path)
    if (name === undefined) return 'missing'
    const found = this.#root.find(name)
    if (isFile(found)) return this.#answer(exchange, { root: this.#root, name, keeper }, found)
    if (found === 'directory' && this.#hasIndex && isFile(this.#root.find(`${name}/${INDEX}`))) {
      return redirect(exchange, `${path}/`)
    }
    return 'missing'
  }

  /**
   * Answers with one file by its absolute path, whether it lies below the root or not: the caller vouches for it. Answers 404
   * when it is gone.
   */
  serveFile(exchange: HttpExchange, file: string, contentType: string, keeper?: WholeFileKeeper): void {
    const root = new PublicRoot(dirname(file), this.#onProblem)
    const name = basename(file)
    const found = root.find(name)
    const outcome = isFile(found) ? this.#answer(exchange, { root, name, contentType, keeper }, found) : 'missing'
    if (outcome === 'missing') refuse(exchange, { status: 404, code: 'not_found' })
  }

  /** Name of the file for a path: directories stand for their index, where there is one. */
  #nameOf(path: string): string | undefined {
    const name = fileNameOf(path)
    if (name === undefined || !(name === '' || name.endsWith('/'))) return name
    return this.#hasIndex ? name + INDEX : undefined
  }

  /** Plans and sends; again when the file changed in between. */
  #answer(exchange: HttpExchange, target: Target, found: FileFacts): StaticOutcome {
    let facts: FileFacts | 'directory' | undefined = found
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (!isFile(facts)) return 'missing'
      const resource = resourceOf(target, facts)
      const plan = planAnswer(exchange.request, resource, this.#now(), makeBoundary)
      this.#offer(exchange, target, resource, plan)
      if (plan.kind !== 'content') {
        answerWithout(exchange, plan)
        return 'served'
      }
      if (this.#sendContent(exchange, target.root, plan)) return 'served'
      facts = target.root.find(target.name)
    }
    const error = new StaticError(
      'STATIC_FILE_CHANGED',
      `${target.root.pathOf(target.name)} does not stay the same while it is read`,
    )
    this.#onProblem(error)
    refuse(exchange, problemOf(error), [['retry-after', '1']])
    return 'served'
  }

  /** A 304 stands for a whole file as well as a 200 does, and so does what HEAD gets. */
  #offer({ request }: HttpExchange, target: Target, resource: StaticResource, plan: AnswerPlan): void {
    const { keeper } = target
    const isWhole = plan.kind === 'not-modified' || (plan.kind === 'content' && plan.head.status === 200)
    if (keeper === undefined || !isWhole || !offerWhole(request, target, resource, this.#now())) return
    const isSent = plan.kind === 'content' && (request.method !== 'HEAD' || plan.length <= this.#maxInlineBytes)
    if (isSent) return
    const whole = planWhole(request, resource, this.#now())
    keeper.unsent({
      head: whole.head,
      bytes: whole.length,
      send: (receiver) => this.#sendContent(receiver, target.root, whole),
    })
  }

  /** False: nothing was sent, since the file is not any more what was planned with. */
  #sendContent(exchange: FileReceiver, root: PublicRoot, plan: ContentPlan): boolean {
    const { facts, name } = plan.variant
    if (facts.size <= this.#maxInlineBytes) {
      const content = this.#contentOf(root, plan.variant)
      if (content !== undefined) exchange.respond(plan.head, assemble(plan.pieces, content))
      return content !== undefined
    }
    if (exchange.request.method === 'HEAD') {
      exchange.stream(plan.head, { length: plan.length }).end()
      return true
    }
    const file = openInState(root, name, facts)
    if (file !== undefined)
      sendFile(exchange, { file, head: plan.head, pieces: plan.pieces, length: plan.length }, this.#onProblem)
    return file !== undefined
  }

  #contentOf(root: PublicRoot, { name, facts }: Variant): Buffer | undefined {
    const path = root.pathOf(name)
    const cached = this.#cache.get(path, facts.state)
    if (cached !== undefined) return cached
    const file = openInState(root, name, facts)
    if (file === undefined) return undefined
    try {
      const content = readWhole(file)
      const isSettled = this.#now() - facts.changedAtMs >= MIN_CACHED_AGE_MS
      if (content !== undefined && isSettled) this.#cache.set(path, { state: facts.state, content })
      return content
    } finally {
      closeSync(file.fd)
    }
  }
}

function isFile(found: FileFacts | 'directory' | undefined): found is FileFacts {
  return found !== undefined && found !== 'directory'
}

function resourceOf({ root, name, contentType }: Target, facts: FileFacts): StaticResource {
  const resource = findResource(root, name, facts)
  return contentType === undefined ? resource : { ...resource, contentType }
}

/** @returns whether it is wanted */
function offerWhole(request: Pick<HttpRequest, 'header'>, target: Target, resource: StaticResource, now: number): boolean {
  const acceptEncoding = request.header('accept-encoding')
  const variant = chooseVariant(resource, acceptEncoding)
  const isSettled = ({ facts }: Variant) => now - facts.changedAtMs >= MIN_CACHED_AGE_MS && facts.lastModifiedMs <= now
  if (!isSettled(resource.identity) || !isSettled(variant)) return false
  return target.keeper?.offer(() => isUnchanged(target, resource, variant, acceptEncoding)) === true
}

/** Whether the same request would be answered with the same bytes and fields. */
function isUnchanged(target: Target, before: StaticResource, sent: Variant, acceptEncoding: string | undefined): boolean {
  const facts = target.root.find(target.name)
  if (!isFile(facts) || facts.state !== before.identity.facts.state) return false
  const resource = resourceOf(target, facts)
  const variant = chooseVariant(resource, acceptEncoding)
  const isSame = variant.name === sent.name && variant.facts.state === sent.facts.state
  // The fields say whether there are other forms.
  return isSame && resource.compressed.length === before.compressed.length
}

function openInState(root: PublicRoot, name: string, facts: FileFacts): OpenFile | undefined {
  const file = root.open(name)
  if (file === undefined || factsOf(file.stat).state === facts.state) return file
  closeSync(file.fd)
  return undefined
}

function assemble(pieces: readonly BodyPiece[], content: Buffer): Uint8Array {
  const parts = pieces.map((piece) => (piece instanceof Uint8Array ? piece : content.subarray(piece.start, piece.end + 1)))
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

function answerWithout(exchange: HttpExchange, plan: Exclude<AnswerPlan, ContentPlan>): void {
  if (plan.kind === 'not-modified') exchange.respond(plan.head)
  else refuse(exchange, refusals[plan.kind], plan.headers)
}

function redirect(exchange: HttpExchange, path: string): StaticOutcome {
  const { query } = exchange.request
  exchange.respond({ status: 308, headers: [['location', query === '' ? path : `${path}?${query}`]] })
  return 'served'
}

function refuse(exchange: HttpExchange, problem: Problem, headers: HeaderList = []): void {
  const { head, body } = problemResponse(problem, exchange.request.header('accept'), headers)
  exchange.respond(head, body)
}

function makeBoundary(): string {
  return randomBytes(18).toString('hex')
}
