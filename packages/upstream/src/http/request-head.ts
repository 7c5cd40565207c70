import { type HeaderList, isLatin1FieldValue, isToken } from '@svc/http'
import type { OriginRequest } from '../origin/origin.ts'
import { isConnectionField } from './answer-head.ts'

/** How the body of a request is framed. */
export type RequestFraming = 'none' | 'chunked' | number

/** Settings of the request heads to one upstream beside their own fields. */
interface HeadOptions {
  /** HTTP/1.0 has no framing for a body of unknown length: a chunked request is 1.1 in any case. */
  readonly httpVersion: '1.0' | '1.1'
  readonly keepsAlive: boolean
  /** Host where the request names none. */
  readonly defaultHost: string
}

/** The fields of a request as they are sent, each with its line break. */
interface FieldLines {
  readonly text: string
  readonly hasHost: boolean
}

/** The inputs of a written head. */
interface Written {
  readonly method: string
  readonly target: string
  readonly framing: RequestFraming
  readonly lines: FieldLines
  readonly text: string
}

/**
 * Writes the heads of the requests to one upstream. Fields of a list that is frozen are remembered until another one comes; a
 * request that says the same as the one before is not checked and written again.
 */
export class RequestHeads {
  readonly #options: HeadOptions
  #headers: HeaderList | undefined
  #lines: FieldLines | undefined
  #last: Written | undefined

  constructor(options: HeadOptions) {
    this.#options = options
  }

  /**
   * The head of a request, one character for each byte. Fields of the connection that the request has are left out: they are of
   * another connection. Undefined: a part of it cannot be written without changing the meaning of the rest.
   */
  of({ method, target, headers }: OriginRequest, framing: RequestFraming): string | undefined {
    const lines = this.#linesOf(headers)
    if (lines === undefined) return undefined
    const last = this.#last
    if (last?.lines === lines && last.target === target && last.method === method && last.framing === framing) return last.text
    if (!isToken(method) || !isTarget(target)) return undefined
    const text = this.#write(method, target, framing, lines)
    this.#last = { method, target, framing, lines, text }
    return text
  }

  #write(method: string, target: string, framing: RequestFraming, lines: FieldLines): string {
    const { httpVersion, keepsAlive, defaultHost } = this.#options
    let head = `${method} ${target} HTTP/${framing === 'chunked' ? '1.1' : httpVersion}\r\n`
    if (!lines.hasHost) head += `host: ${defaultHost}\r\n`
    if (!keepsAlive) head += 'connection: close\r\n'
    if (framing === 'chunked') head += 'transfer-encoding: chunked\r\n'
    else if (framing !== 'none') head += `content-length: ${framing}\r\n`
    return `${head}${lines.text}\r\n`
  }

  /** Undefined: they cannot be written. */
  #linesOf(headers: HeaderList): FieldLines | undefined {
    if (headers === this.#headers) return this.#lines
    const lines = writeLines(headers)
    if (Object.isFrozen(headers)) {
      this.#headers = headers
      this.#lines = lines
    }
    return lines
  }
}

/** Writes fields. Undefined: one of them cannot be written without changing the meaning of the rest. */
function writeLines(headers: HeaderList): FieldLines | undefined {
  let text = ''
  let hasHost = false
  for (const [name, value] of headers) {
    if (isConnectionField(name) || name === 'expect') continue
    if (!isToken(name) || !isLatin1FieldValue(value)) return undefined
    if (name === 'host') {
      if (hasHost) return undefined
      hasHost = true
    }
    text += `${name}: ${value}\r\n`
  }
  return { text, hasHost }
}

/** True if a target can be written: visible ASCII from a slash on; also `*` for OPTIONS. */
export function isTarget(target: string): boolean {
  for (let i = 0; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code <= 0x20 || code >= 0x7f) return false
  }
  return target.charCodeAt(0) === 0x2f || target === '*'
}
