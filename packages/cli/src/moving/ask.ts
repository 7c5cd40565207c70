import { createHash } from 'node:crypto'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { gunzipSync } from 'node:zlib'

/** One request, as both servers get it. */
export interface Question {
  readonly method: string
  readonly host: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Answer {
  /** 0: the connection ended without a response. */
  readonly status: number
  /** By name in lower case; values of the same name in their order. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  /** Length of the body, decoded if it came with gzip, up to a limit. */
  readonly bytes: number
  /** Digest of the same. */
  readonly digest: string
  /** Beginning of the body. */
  readonly beginning: string
}

const TIMEOUT_MS = 15_000
const MAX_BODY_BYTES = 4 * 1024 * 1024
const BEGINNING_BYTES = 1024
const NONE: Answer = { status: 0, headers: new Map(), bytes: 0, digest: '', beginning: '' }

function headersOf(raw: readonly string[]): Map<string, string[]> {
  const headers = new Map<string, string[]>()
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), raw[at + 1] ?? ''])
  }
  return headers
}

/** Two servers compress the same text differently. */
function decoded(body: Buffer, headers: ReadonlyMap<string, readonly string[]>): Buffer {
  if (body.byteLength === 0 || headers.get('content-encoding')?.join() !== 'gzip') return body
  try {
    return gunzipSync(body, { maxOutputLength: MAX_BODY_BYTES })
  } catch {
    // Too large, cut at the limit, or not gzip: compared as it came.
    return body
  }
}

function summaryOf(body: Buffer): Pick<Answer, 'bytes' | 'digest' | 'beginning'> {
  return {
    bytes: body.byteLength,
    digest: createHash('sha256').update(body).digest('hex'),
    beginning: body.subarray(0, BEGINNING_BYTES).toString('latin1'),
  }
}

/**
 * Sends a request over a connection of its own. Rejects only if the server cannot be reached. A certificate is not verified: it
 * is for the name of a site, and both servers are the operator's own.
 */
export function ask(base: URL, { method, host, target, headers }: Question): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const isTls = base.protocol === 'https:'
  const hostname = base.hostname.replace(/^\[|\]$/g, '')
  const port = base.port === '' ? (isTls ? 443 : 80) : Number(base.port)
  const options = {
    host: hostname,
    port,
    method,
    path: target,
    agent: false,
    setHost: false,
    headers: { Host: host, ...headers },
  }
  const request = isTls ? requestHttps({ ...options, servername: host, rejectUnauthorized: false }) : requestHttp(options)
  const timer = setTimeout(() => request.destroy(), TIMEOUT_MS)
  request.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNREFUSED' || error.syscall === 'getaddrinfo' || error.code === 'EHOSTUNREACH') reject(error)
    else resolve(NONE)
  })
  request.on('response', (response) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const end = () => {
      const headers = headersOf(response.rawHeaders)
      const body = decoded(Buffer.concat(chunks), headers)
      resolve({ status: response.statusCode ?? 0, headers, ...summaryOf(body) })
      request.destroy()
    }
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk.subarray(0, MAX_BODY_BYTES - bytes))
      bytes += chunk.byteLength
      if (bytes >= MAX_BODY_BYTES) end()
    })
    response.on('end', end)
    response.on('error', () => resolve(NONE))
    response.on('close', () => resolve(NONE))
  })
  request.on('close', () => clearTimeout(timer))
  request.end(method === 'POST' ? 'svc-compare=1' : undefined)
  return promise
}
