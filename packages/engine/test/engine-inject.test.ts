import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engineContract } from './engine-contract.ts'
import { plainHttp1 } from './engine-contract-types.ts'
import { engineReadyContract, type StartReadySubject } from './engine-ready-contract.ts'
import { inject } from './inject/index.ts'

engineContract('inject', async (_t, handler, limits) => {
  const problems: Error[] = []
  return {
    problems,
    send: ({ leaveAtFirstChunk, isSlow, ...request }) =>
      inject(handler, {
        ...request,
        ...(limits?.maxBodyBytes === undefined ? {} : { maxBodyBytes: limits.maxBodyBytes }),
        onProblem: (problem) => problems.push(problem),
        ...(leaveAtFirstChunk === true ? { onChunk: (_chunk: Buffer, abort: () => void) => setImmediate(abort) } : {}),
        ...(isSlow === true ? { windowBytes: 20_000 } : {}),
      }),
  }
})

const startReady: StartReadySubject = async (_t, handler, ready) => {
  const problems: Error[] = []
  const onProblem = (problem: Error) => problems.push(problem)
  return {
    problems,
    send: (request) => inject(handler, { ...request, ready, onProblem, host: request.headers?.['host'] ?? 'a.test' }),
  }
}
engineReadyContract('inject', startReady, { ...plainHttp1, hasConnectionFields: false })

test('inject refuses what the engines refuse', async () => {
  const handler = () => assert.fail('must not be called')
  assert.equal((await inject(handler, { url: 'http://a/' })).status, 400)
  assert.equal((await inject(handler, { url: '/', host: 'a b' })).status, 400)
  assert.equal((await inject(handler, { url: '/', headers: { 'content-length': ['1', '2'] } })).status, 400)
})

test('inject shows the pieces of a stream as they were written', async () => {
  const response = await inject(
    (exchange) => {
      const writer = exchange.stream({ status: 200, headers: [] })
      writer.write(Buffer.from('a'))
      writer.end(Buffer.from('b'))
    },
    { url: '/' },
  )
  assert.deepEqual(response.chunks.map(String), ['a', 'b'])
})
