import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from '@svc/testkit'

/** Fields that belong to the connection to an upstream, and those that only this server adds. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'cdn-loop', 'content-length', 'transfer-encoding'])

/** An upstream that answers with what it saw of the request: method, target, fields and body; not below `/dropped/`. */
export class EchoUpstream {
  /** 0 on a unix socket. */
  readonly port: number

  private constructor(port: number) {
    this.port = port
  }

  /**
   * @param socket path of a unix socket; else it listens on a free port
   * @param name of the upstream, which its answers say
   */
  static async start(t: Cleanup, socket?: string, name = 'echo'): Promise<EchoUpstream> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (request.url?.startsWith('/dropped/')) request.socket.destroy()
        else answerTo(request, Buffer.concat(chunks), response, name)
      })
      // No client waits for the response of an aborted request.
      request.on('error', () => response.destroy())
    })
    if (socket === undefined) server.listen(0, '127.0.0.1')
    else server.listen(socket)
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return new EchoUpstream(socket === undefined ? (server.address() as AddressInfo).port : 0)
  }
}

/** Answers as the query asks: `status`, `type`, `location`, `cache` for Cache-Control, `expires`, `accel` for X-Accel-Redirect, `cookie` for Set-Cookie. */
function answerTo(request: IncomingMessage, body: Buffer, response: ServerResponse, name: string): void {
  const answer = Buffer.from(describe(request, body))
  const wanted = new URLSearchParams(request.url?.split('?')[1] ?? '')
  const location = wanted.get('location')
  const accel = wanted.get('accel')
  const expires = wanted.get('expires')
  const cache = wanted.get('cache') ?? 'max-age=7'
  response.writeHead(Number(wanted.get('status') ?? 200), {
    'content-type': wanted.get('type') ?? 'application/json',
    'content-length': answer.byteLength,
    'x-upstream': name,
    'x-hidden': 'perhaps',
    ...(cache === '' ? {} : { 'cache-control': cache }),
    ...(expires === null ? {} : { expires }),
    ...(location === null ? {} : { location }),
    ...(wanted.has('cookie') && { 'set-cookie': wanted.getAll('cookie') }),
    ...(accel === null ? {} : { 'x-accel-redirect': accel }),
  })
  response.end(request.method === 'HEAD' ? undefined : answer)
}

function describe({ method, url, rawHeaders }: IncomingMessage, body: Buffer): string {
  const fields: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    if (!NOT_COMPARED.has(name)) fields.push(`${name}: ${rawHeaders[i + 1]}`)
  }
  return JSON.stringify({ method, url, fields: fields.sort(), body: body.toString('latin1') })
}
