import { request as httpRequest, type IncomingMessage } from 'node:http'
import { engineContract } from './engine-contract.ts'
import type { ContractRequest, ContractResponse } from './engine-contract-types.ts'
import { engineReadyContract, leavingClientContract, type StartReadySubject } from './engine-ready-contract.ts'
import { startUws } from './start-uws.ts'

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

function send(port: number, asked: ContractRequest): Promise<ContractResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ContractResponse>()
  const request = httpRequest({
    port,
    host: '127.0.0.1',
    method: asked.method ?? 'GET',
    path: asked.url,
    headers: asked.headers ?? {},
    agent: false,
  })
  request.on('response', (response) => readBody(response, asked).then(resolve, reject))
  request.on('error', (error) => {
    // Cut before the head had left.
    if ('code' in error && error.code === 'ECONNRESET') resolve({ status: 0, headers: {}, body: Buffer.alloc(0), aborted: true })
    else reject(error)
  })
  if (typeof asked.body === 'string') request.end(asked.body)
  else {
    for (const chunk of asked.body ?? []) request.write(chunk)
    request.end()
  }
  return promise
}

engineContract('uws', async (t, handler, limits) => {
  const { port, problems } = await startUws(t, handler, limits)
  return { problems, send: (request) => send(port, request) }
})

const startReady: StartReadySubject = async (t, handler, ready) => {
  const { port, problems } = await startUws(t, handler, { ready })
  return { problems, send: (request) => send(port, request) }
}

engineReadyContract('uws', startReady)
leavingClientContract(startReady)
