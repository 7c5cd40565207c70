import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'

/** An answer as it came over the wire. */
export interface RawAnswer {
  /** 0: the connection was closed without one. */
  readonly status: number
  /** Names in lower case, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Decoded, if it came with Content-Encoding gzip. */
  readonly body: string
}

/** Target and source address of a request. */
export interface Peer {
  readonly host: string
  readonly port: number
  readonly from?: string | undefined
}

/** Without an answer in this time a test fails; far more than a loaded machine needs. */
const TIMEOUT_MS = 60_000

/** Sends bytes as they are (latin-1) and reads until the peer closes. The request must ask for that. */
export function ask(peer: Peer, request: string): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const { host, port, from } = peer
  const socket = connect({ host, port, ...(from === undefined ? {} : { localAddress: from }) })
  const chunks: Buffer[] = []
  const finish = () => {
    socket.destroy()
    resolve(parseAnswer(Buffer.concat(chunks).toString('latin1')))
  }
  socket.setTimeout(TIMEOUT_MS, () => {
    socket.destroy()
    reject(new Error(`no end of the answer to ${JSON.stringify(request.split('\r\n', 1)[0])}`))
  })
  socket.on('data', (chunk) => chunks.push(chunk))
  // A server that has answered may reset a connection whose request it has not read to its end.
  socket.on('error', (error) => (chunks.length > 0 ? finish() : reject(error)))
  socket.on('end', finish)
  socket.write(Buffer.from(request, 'latin1'))
  return promise
}

function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return { status: 0, headers: [], body: text }
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  const rest = text.slice(end + 4)
  const isChunked = headers.some(([name, value]) => name === 'transfer-encoding' && value.toLowerCase() === 'chunked')
  const body = isChunked ? joined(rest) : rest
  const isGzip = body !== '' && headers.some(([name, value]) => name === 'content-encoding' && value === 'gzip')
  const decoded = isGzip ? gunzipSync(Buffer.from(body, 'latin1')).toString('latin1') : body
  return { status: Number(statusLine.split(' ')[1]), headers, body: decoded }
}

function joined(chunked: string): string {
  let body = ''
  for (let at = 0; ; ) {
    const lineEnd = chunked.indexOf('\r\n', at)
    const size = Number.parseInt(chunked.slice(at, lineEnd), 16)
    if (lineEnd === -1 || !(size > 0)) return body
    body += chunked.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + 2 + size + 2
  }
}
