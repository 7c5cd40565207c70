import { once } from 'node:events'
import { type Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'

/** A response read to its end. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly text: string
}

/** Options of a request. */
export interface HttpOptions {
  readonly method?: string
  /** Value of the Host field, to address a site by name on a loopback port. */
  readonly host?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly agent?: Agent
  readonly timeoutMs?: number
  /** Sends it again, as browsers do, if the server has closed the kept connection that it went out on. @default false */
  readonly retriesKept?: boolean
}

/** Without a byte; far more than a loaded machine needs. */
const DEFAULT_TIMEOUT_MS = 60_000

/** Accepts any certificate; the server name is that of the Host field. */
function tlsOptions({ host = '' }: HttpOptions) {
  return { rejectUnauthorized: false, servername: host.replace(/:\d+$/, '') }
}

/** Makes one HTTP/1.1 request and reads the whole response. It follows no redirect and decompresses nothing. */
export function fetchHttp(url: string, options: HttpOptions = {}): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
  const headers = { ...options.headers, ...(options.host === undefined ? {} : { host: options.host }) }
  const isTls = url.startsWith('https:')
  const request = (isTls ? httpsRequest : httpRequest)(
    url,
    {
      method: options.method ?? 'GET',
      headers,
      ...(options.agent === undefined ? {} : { agent: options.agent }),
      ...(isTls ? tlsOptions(options) : {}),
    },
    (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const body = Buffer.concat(chunks)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, text: body.toString() })
      })
    },
  )
  request.setTimeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS, () => request.destroy(new Error(`no response from ${url} in time`)))
  request.on('error', (error) => {
    if (options.retriesKept === true && request.reusedSocket) fetchHttp(url, options).then(resolve, reject)
    else reject(error)
  })
  request.end(options.body)
  return promise
}

/** Sends bytes and reads all that comes until the connection closes. */
export async function talk(socket: Socket, bytes: string): Promise<string> {
  let text = ''
  socket.on('data', (data: Buffer) => {
    text += data.toString('latin1')
  })
  socket.write(bytes)
  await once(socket, 'close')
  return text
}
