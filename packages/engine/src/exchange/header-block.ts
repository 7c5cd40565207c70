import { RecentWeakMap } from '@svc/core'
import { type HeaderList, type ResponseHead, statusLine } from '@svc/http'
import type { ReadyHead } from './ready-responses.ts'
import { isAscii, safeHead } from './response-head.ts'

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
 * Makes heads safe and joins their fields. The owner of a head that is sent again and again (a cache entry) should freeze its
 * header list: it is then checked and joined once.
 */
export class HeaderBlocks {
  readonly #onProblem: (error: Error) => void
  readonly #kept = new RecentWeakMap<HeaderList, HeaderBlock>()

  /** @param onProblem called for each field that is dropped because it may not be written */
  constructor(onProblem: (error: Error) => void) {
    this.#onProblem = onProblem
  }

  of(head: ResponseHead): HeaderBlock {
    const known = this.#kept.get(head.headers)
    if (known !== undefined && known.status === head.status) {
      readyHeadOf(known)
      return known
    }
    const block = this.#build(head)
    if (Object.isFrozen(head.headers)) this.#kept.set(head.headers, block)
    return block
  }

  #build(head: ResponseHead): HeaderBlock {
    return joined(safeHead(head, this.#onProblem))
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
