import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, readSync } from 'node:fs'
import { type HeaderList, type HttpRequest, problemOf, type ResponseHead } from '@svc/http'
import { StaticError } from '../errors/errors.ts'
import { type FileReceiver, sendFile } from './file-sender.ts'
import { contentStateOf, type FileSource, type FileVersion, type OpenFile, versionOf } from './file-source.ts'
import { type BodyPiece, type ContentPlan, planResponse, planWhole, type ResponsePlan } from './response-plan.ts'
import { SmallFileCache } from './small-file-cache.ts'
import { chooseVariant, type StaticResource, type Variant } from './variant.ts'

/** Reads an open file at once; undefined when it changed while being read. For small files: it blocks the thread. */
function readWhole(file: OpenFile): Buffer | undefined {
  const content = Buffer.allocUnsafeSlow(Number(file.stat.size))
  let filled = 0
  while (filled < content.byteLength) {
    const count = readSync(file.fd, content, filled, content.byteLength - filled, filled)
    if (count === 0) return undefined
    filled += count
  }
  return contentStateOf(fstatSync(file.fd, { bigint: true })) === contentStateOf(file.stat) ? content : undefined
}

/** A whole file that its client does not get, since it has it already or requests the head alone. */
interface UnsentFile {
  readonly head: ResponseHead
  /** Size of the form that would be sent. */
  readonly bytes: number
  /** Sends it, at once or later. False: it has changed and was not sent. */
  send(receiver: FileReceiver): boolean
}

/** Takes whole files into L0. Owned by the static files; all calls are synchronous and must not throw. */
export interface WholeFileL0 {
  /**
   * Called, before anything is sent, for a file that is requested as a whole and whose response stays the same until
   * it changes, which `isCurrent` detects. Not called for files that have only just changed.
   * @returns true if it is wanted
   */
  offer(isCurrent: () => boolean): boolean
  /** The requested content is not sent to the client. */
  unsent(file: UnsentFile): void
}

/** A file by its name. A cached response keeps it in memory: it must not keep a request alive. */
interface NamedFile {
  readonly source: FileSource
  readonly name: string
  /** Describes the file in this version. */
  readonly describe: (version: FileVersion) => StaticResource
}

/** A file to answer with. */
export interface FileTarget extends NamedFile {
  readonly l0: WholeFileL0 | undefined
  /** Answers with an error. */
  refuse(status: number, headers: HeaderList): void
}

/** How files are sent. */
export interface FileHandlerOptions {
  /** Files up to this size are read at once and kept in memory; larger ones are streamed. @default 65536 */
  readonly maxInlineBytes?: number | undefined
  /** Memory for the contents of small files in bytes. @default 2097152 */
  readonly maxCacheBytes?: number | undefined
  /** Wall clock in milliseconds. @default the clock of the machine */
  readonly now?: (() => number) | undefined
  /** Called for files that cannot be read or that change while they are sent. */
  readonly onProblem: (error: Error) => void
}

const refusals = { 'bad-method': 405, 'precondition-failed': 412, unsatisfiable: 416 } as const
/** Tries to answer with a file that is being written just now. */
const MAX_ATTEMPTS = 3
/** A file younger than this may change again without a new time of change: file systems count in ticks. */
const MIN_CACHED_AGE_MS = 1000

/**
 * Answers requests with files that have been found. Every response looks at the file on disk, so an edited file is seen at once;
 * memory only saves the reading. Synchronous up to the first byte of a large file.
 */
export class FileHandler {
  readonly #cache: SmallFileCache
  readonly #maxInlineBytes: number
  readonly #now: () => number
  readonly #onProblem: (error: Error) => void

  constructor({ maxInlineBytes = 65_536, maxCacheBytes = 2_097_152, now = () => Date.now(), onProblem }: FileHandlerOptions) {
    this.#cache = new SmallFileCache(maxCacheBytes)
    this.#maxInlineBytes = maxInlineBytes
    this.#now = now
    this.#onProblem = onProblem
  }

  /** Plans and sends; again when the file changed in between. False: it is gone and nothing was sent. */
  answer(exchange: FileReceiver, target: FileTarget, found: FileVersion): boolean {
    try {
      return this.#answer(exchange, target, found)
    } catch (error) {
      if (!(error instanceof StaticError)) throw error
      this.#onProblem(error)
      target.refuse(problemOf(error).status, [])
      return true
    }
  }

  #answer(exchange: FileReceiver, target: FileTarget, found: FileVersion): boolean {
    let version: FileVersion | 'directory' | undefined = found
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (!isFile(version)) return false
      const resource = target.describe(version)
      const plan = planResponse(exchange.request, resource, this.#now(), () => randomBytes(18).toString('hex'))
      this.#offer(exchange, target, resource, plan)
      if (plan.kind === 'not-modified') exchange.respond(plan.head)
      else if (plan.kind !== 'content') target.refuse(refusals[plan.kind], plan.headers)
      if (plan.kind !== 'content' || this.#sendContent(exchange, target.source, plan)) return true
      version = target.source.find(target.name)
    }
    const error = new StaticError(
      'STATIC_FILE_CHANGED',
      `${target.source.pathOf(target.name)} kept changing while it was being read`,
    )
    this.#onProblem(error)
    target.refuse(problemOf(error).status, [['retry-after', '1']])
    return true
  }

  /** A 304 stands for a whole file just as a 200 does, and so does the response to HEAD. */
  #offer({ request }: FileReceiver, target: FileTarget, resource: StaticResource, plan: ResponsePlan): void {
    const { l0 } = target
    const isWhole = plan.kind === 'not-modified' || (plan.kind === 'content' && plan.head.status === 200)
    if (l0 === undefined || !isWhole || !offerWhole(request, target, resource, this.#now())) return
    const isSent = plan.kind === 'content' && (request.method !== 'HEAD' || plan.length <= this.#maxInlineBytes)
    if (isSent) return
    const whole = planWhole(request, resource, this.#now())
    l0.unsent({
      head: whole.head,
      bytes: whole.length,
      send: (receiver) => this.#sendContent(receiver, target.source, whole),
    })
  }

  /** False: nothing was sent, since the file has changed after the plan was made. */
  #sendContent(exchange: FileReceiver, source: FileSource, plan: ContentPlan): boolean {
    const { version, name } = plan.variant
    if (version.size <= this.#maxInlineBytes) {
      const content = this.#contentOf(source, plan.variant)
      if (content !== undefined) exchange.respond(plan.head, assemble(plan.pieces, content))
      return content !== undefined
    }
    if (exchange.request.method === 'HEAD') {
      exchange.stream(plan.head, { length: plan.length }).end()
      return true
    }
    const file = openInState(source, name, version)
    if (file !== undefined)
      sendFile(exchange, { file, head: plan.head, pieces: plan.pieces, length: plan.length }, this.#onProblem)
    return file !== undefined
  }

  #contentOf(source: FileSource, { name, version }: Variant): Buffer | undefined {
    const path = source.pathOf(name)
    const cached = this.#cache.get(path, version.state)
    if (cached !== undefined) return cached
    const file = openInState(source, name, version)
    if (file === undefined) return undefined
    try {
      const content = readWhole(file)
      const isSettled = this.#now() - version.changedAtMs >= MIN_CACHED_AGE_MS
      if (content !== undefined && isSettled) this.#cache.set(path, { state: version.state, content })
      return content
    } finally {
      closeSync(file.fd)
    }
  }
}

/** True if a file was found. */
export function isFile(found: FileVersion | 'directory' | undefined): found is FileVersion {
  return found !== undefined && found !== 'directory'
}

/** @returns true if it is wanted */
function offerWhole(request: Pick<HttpRequest, 'header'>, target: FileTarget, resource: StaticResource, now: number): boolean {
  const acceptEncoding = request.header('accept-encoding')
  const variant = chooseVariant(resource, acceptEncoding)
  const isSettled = ({ version }: Variant) => now - version.changedAtMs >= MIN_CACHED_AGE_MS && version.lastModifiedMs <= now
  if (!isSettled(resource.identity) || !isSettled(variant)) return false
  return target.l0?.offer(currentCheck(target, resource, variant, acceptEncoding)) === true
}

/** In a function of its own: the check outlives the request. */
function currentCheck({ source, name, describe }: NamedFile, before: StaticResource, sent: Variant, acceptEncoding?: string) {
  return () => {
    try {
      return isUnchanged({ source, name, describe }, before, sent, acceptEncoding)
    } catch {
      // The next look at the file reports the fault.
      return false
    }
  }
}

/** True if the same request would be answered with the same bytes and fields. */
function isUnchanged(target: NamedFile, before: StaticResource, sent: Variant, acceptEncoding: string | undefined): boolean {
  const version = target.source.find(target.name)
  if (!isFile(version) || version.state !== before.identity.version.state) return false
  const resource = target.describe(version)
  const variant = chooseVariant(resource, acceptEncoding)
  const isSame = variant.name === sent.name && variant.version.state === sent.version.state
  // The fields say if there are other forms.
  return isSame && resource.compressed.length === before.compressed.length
}

function openInState(source: FileSource, name: string, version: FileVersion): OpenFile | undefined {
  const file = source.open(name)
  if (file === undefined || versionOf(file.stat).state === version.state) return file
  closeSync(file.fd)
  return undefined
}

function assemble(pieces: readonly BodyPiece[], content: Buffer): Uint8Array {
  const parts = pieces.map((piece) => (piece instanceof Uint8Array ? piece : content.subarray(piece.start, piece.end + 1)))
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}
