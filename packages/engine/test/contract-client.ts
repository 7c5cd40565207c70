import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, constants } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import type { ContractRequest, ContractResponse } from './engine-contract-types.ts'

const cutBeforeTheHead: ContractResponse = { status: 0, headers: {}, body: Buffer.alloc(0), aborted: true }

async function readBody(response: IncomingMessage, asked: ContractRequest): Promise<ContractResponse> {
  const chunks: Buffer[] = []
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    if (asked.leaveAtFirstChunk === true) response.destroy()
    if (asked.isSlow !== true) return
    response.pause()
    setTimeout(() => response.resume(), 1)
  })
  // A cut shows as an error and in `complete`; the latter is what is asserted.
  response.on('error', () => undefined)
  await new Promise((resolve) => response.once('close', resolve))
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks),
    aborted: !response.complete,
  }
}

/** Sends a request of the suite by HTTP/1.1. */
export function sendHttp1(port: number, asked: ContractRequest, isTls = false): Promise<ContractResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ContractResponse>()
  const request = (isTls ? httpsRequest : httpRequest)({
    port,
    host: '127.0.0.1',
    method: asked.method ?? 'GET',
    path: asked.url,
    headers: asked.headers ?? {},
    agent: false,
    ...(isTls ? { rejectUnauthorized: false, servername: 'a.test' } : {}),
  })
  request.on('response', (response) => readBody(response, asked).then(resolve, reject))
  request.on('error', (error) => {
    if ('code' in error && error.code === 'ECONNRESET') resolve(cutBeforeTheHead)
    else reject(error)
  })
  asked.signal?.addEventListener('abort', () => request.destroy())
  if (typeof asked.body === 'string') request.end(asked.body)
  else {
    for (const chunk of asked.body ?? []) request.write(chunk)
    request.end()
  }
  return promise
}

/** Fields as HTTP/2 has them: the host as authority, and nothing of the connection. */
function http2Fields({ headers = {} }: ContractRequest): Record<string, string> {
  const fields = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const kept = fields.filter(([name]) => !['host', 'connection', 'upgrade'].includes(name))
  const host = fields.find(([name]) => name === 'host')?.[1] ?? 'localhost'
  return { ...Object.fromEntries(kept), ':authority': host }
}

/** Sends a request of the suite by HTTP/2, on a connection of its own. */
export async function sendHttp2(port: number, asked: ContractRequest): Promise<ContractResponse> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, servername: 'a.test' })
  session.on('error', () => undefined)
  const hasBody = asked.body !== undefined
  const length = typeof asked.body === 'string' ? { 'content-length': String(Buffer.byteLength(asked.body)) } : {}
  const lines = { ':method': asked.method ?? 'GET', ':path': asked.url, ...length, ...http2Fields(asked) }
  const stream = session.request(lines, { endStream: !hasBody })
  const chunks: Buffer[] = []
  let response: ContractResponse = cutBeforeTheHead
  let isEnded = false
  stream.on('response', (headers) => {
    response = { ...response, status: headers[':status'] ?? 0, headers: headers as ContractResponse['headers'] }
  })
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    if (asked.leaveAtFirstChunk === true) stream.close(constants.NGHTTP2_CANCEL)
    if (asked.isSlow !== true) return
    stream.pause()
    setTimeout(() => stream.resume(), 1)
  })
  stream.on('end', () => {
    isEnded = true
  })
  asked.signal?.addEventListener('abort', () => stream.close(constants.NGHTTP2_CANCEL))
  // A reset shows as an error and in the code; the latter is what is asserted.
  stream.on('error', () => undefined)
  if (typeof asked.body === 'string') stream.end(asked.body)
  else if (asked.body !== undefined) {
    for (const chunk of asked.body) stream.write(chunk)
    stream.end()
  }
  await new Promise((resolve) => stream.once('close', resolve))
  session.destroy()
  return { ...response, body: Buffer.concat(chunks), aborted: !isEnded || stream.rstCode !== constants.NGHTTP2_NO_ERROR }
}
