import { RecentWeakMap } from '@svc/core'
import { guardResponse, type HeaderList, type ResponseHead, statusLine } from '@svc/http'
import { EngineError } from '../errors/errors.ts'
import type { ReadyHead } from './ready-responses.ts'

/** Makes a head safe to write. @param onProblem called for each field that is dropped because it may not be written */
export function safeHead(head: ResponseHead, onProblem: (error: Error) => void): ResponseHead {
  return guardResponse(head, (name, reason) => {
    onProblem(new EngineError('ENGINE_FIELD_DROPPED', `response field ${JSON.stringify(name)} was dropped: ${reason}`))
  })
}

const text = [['Content-Type', 'text/plain; charset=utf-8']] as const
const wrongVersion = [...text, ['Sec-WebSocket-Version', '13']] as const

/** The fields of a response that an engine gives by itself. */
export function refusalFields(status: number): HeaderList {
  // RFC 6455 section 4.4: which version would be understood.
  return status === 426 ? wrongVersion : text
}

/** True if a text is plain ASCII, so that its UTF-8 and latin-1 bytes are the same. */
export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}

/** A response head ready to write: the first field name, and everything behind it as one value with line breaks in it. */
export interface HeaderBlock {
  readonly status: number
  readonly statusLine: string
  /** Empty when there is no field. */
  readonly name: string
  readonly rest: string | Uint8Array
  /** The same in one piece, once it is known to be sent more than once. */
  ready: ReadyHead | undefined
}

/**
 * Heads as an engine writes them. The owner of a head that is sent again and again (a cache entry) should freeze its header list: it is
 * then checked and built once.
 */
export class BuiltHeads<Head extends { readonly status: number }> {
  readonly #build: (safe: ResponseHead) => Head
  readonly #onProblem: (error: Error) => void
  readonly #known = new RecentWeakMap<HeaderList, Head>()

  /**
   * @param build called with a head that is safe to write
   * @param onProblem called for each field that is dropped because it may not be written
   */
  constructor(build: (safe: ResponseHead) => Head, onProblem: (error: Error) => void) {
    this.#build = build
    this.#onProblem = onProblem
  }

  of(head: ResponseHead): Head {
    const known = this.#known.get(head.headers)
    if (known !== undefined && known.status === head.status) {
      this.reused(known)
      return known
    }
    const built = this.#build(safeHead(head, this.#onProblem))
    if (Object.isFrozen(head.headers)) this.#known.set(head.headers, built)
    return built
  }

  /** A head is sent more than once. */
  protected reused(_head: Head): void {
    // Most engines send it the same way.
  }
}

/** Joins the fields of heads. */
export class HeaderBlocks extends BuiltHeads<HeaderBlock> {
  constructor(onProblem: (error: Error) => void) {
    super(joined, onProblem)
  }

  protected override reused(block: HeaderBlock): void {
    readyHeadOf(block)
  }
}

/** Values are written as latin-1 (RFC 9110 section 5.5). */
function joined({ status, headers }: ResponseHead): HeaderBlock {
  const [first] = headers
  if (first === undefined) return { status, statusLine: statusLine(status), name: '', rest: '', ready: undefined }
  let rest = first[1]
  for (let i = 1; i < headers.length; i++) {
    const field = headers[i]
    if (field !== undefined) rest += `\r\n${field[0]}: ${field[1]}`
  }
  const bytes = isAscii(rest) ? rest : Buffer.from(rest, 'latin1')
  return { status, statusLine: statusLine(status), name: first[0], rest: bytes, ready: undefined }
}

/**
 * Makes a head for many writes. The library takes bytes as they are, while it converts texts each time, and what it is given
 * costs by the piece: it writes whatever it takes for the status line.
 */
export function readyHeadOf(block: HeaderBlock): ReadyHead {
  block.ready ??= { status: block.status, bytes: inOnePiece(block) }
  return block.ready
}

function inOnePiece({ statusLine, name, rest }: HeaderBlock): Uint8Array {
  const first = name.length === 0 ? statusLine : `${statusLine}\r\n${name}: `
  // A piece of a pool would keep the pool.
  const bytes = Buffer.allocUnsafeSlow(first.length + rest.length)
  bytes.write(first, 'latin1')
  if (typeof rest === 'string') bytes.write(rest, first.length, 'latin1')
  else bytes.set(rest, first.length)
  return bytes
}
