import { type HeaderList, isLatin1FieldValue, isToken } from '@svc/http'
import type { OriginRequest } from '../origin.ts'
import { isConnectionField } from './answer-head.ts'

/** How the body of a request is framed. */
export type RequestFraming = 'none' | 'chunked' | number

/** What the head of a request says beside its own fields. */
export interface HeadOptions {
  readonly httpVersion: '1.0' | '1.1'
  readonly framing: RequestFraming
  readonly keepsAlive: boolean
  /** Host where the request names none. */
  readonly defaultHost: string
}

/** The fields of a request as they are sent, each with its line break. */
interface FieldLines {
  readonly text: string
  readonly hasHost: boolean
}

/** Fields of requests, checked and written. Those of a list that is frozen are remembered until another one comes. */
export class KnownLines {
  #headers: HeaderList | undefined
  #lines: FieldLines | undefined

  /** Undefined: they cannot be written. */
  of(headers: HeaderList): FieldLines | undefined {
    if (headers === this.#headers) return this.#lines
    const lines = writeLines(headers)
    if (Object.isFrozen(headers)) {
      this.#headers = headers
      this.#lines = lines
    }
    return lines
  }
}

/**
 * Writes the head of a request, one character for each byte. Fields of the connection that the request has are left out: they
 * are of another connection. Undefined: something in it cannot be written without changing what the rest means.
 */
export function writeRequestHead(request: OriginRequest, options: HeadOptions, known: KnownLines): string | undefined {
  const { method, target, headers } = request
  if (!isToken(method) || !isTarget(target)) return undefined
  const lines = known.of(headers)
  if (lines === undefined) return undefined
  let head = `${method} ${target} HTTP/${options.httpVersion}\r\n`
  if (!lines.hasHost) head += `host: ${options.defaultHost}\r\n`
  if (!options.keepsAlive) head += 'connection: close\r\n'
  if (options.framing === 'chunked') head += 'transfer-encoding: chunked\r\n'
  else if (options.framing !== 'none') head += `content-length: ${options.framing}\r\n`
  return `${head}${lines.text}\r\n`
}

/** Writes fields. Undefined: one of them cannot be written without changing what the rest means. */
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

/** Visible ASCII; also `*` for OPTIONS. */
function isTarget(target: string): boolean {
  for (let i = 0; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code <= 0x20 || code >= 0x7f) return false
  }
  return target.charCodeAt(0) === 0x2f || target === '*'
}
