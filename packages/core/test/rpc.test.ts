import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import {
  type CallContext,
  type Channel,
  createPortChannel,
  guard,
  type Handlers,
  method,
  ReplyWithBytes,
  RpcPeer,
} from '../src/index.ts'
import { WINDOW_BYTES } from '../src/rpc/flow-window.ts'

const server = {
  add: method(guard.object({ a: guard.number, b: guard.number }), guard.object({ sum: guard.number })),
  wait: method(guard.nothing, guard.nothing),
  echo: method(guard.nothing, guard.object({ length: guard.number })),
  stream: method(guard.object({ chunks: guard.number, size: guard.number }), guard.nothing),
  wrong: method(guard.nothing, guard.object({ sum: guard.number })),
} as const
const client = {} as const

type Server = RpcPeer<typeof server, typeof client>
type Client = RpcPeer<typeof client, typeof server>

const plain: Handlers<typeof server> = {
  add: ({ a, b }) => ({ sum: a + b }),
  wait: () => new Promise(() => undefined),
  echo: (_request, context) => collect(context),
  stream: () => undefined,
  wrong: () => ({ sum: 'x' }) as unknown as { sum: number },
}

function collect(context: CallContext): Promise<ReplyWithBytes<{ length: number }>> {
  const parts: Uint8Array[] = []
  const { promise, resolve } = Promise.withResolvers<ReplyWithBytes<{ length: number }>>()
  context.onChunk((bytes, ack) => {
    parts.push(bytes)
    ack()
  })
  context.onEnd(() => {
    const all = new Uint8Array(Buffer.concat(parts))
    resolve(new ReplyWithBytes({ length: all.byteLength }, all))
  })
  return promise
}

/** Closes the channels of all tests: an open port keeps the process running. */
const channels: Channel[] = []
after(() => {
  for (const channel of channels) channel.close()
})

function connect(
  handlers: Partial<Handlers<typeof server>> = {},
  version = 1,
): { server: Server; client: Client; problems: Error[] } {
  const { port1, port2 } = new MessageChannel()
  const [left, right] = [createPortChannel(port1), createPortChannel(port2)]
  channels.push(left)
  const problems: Error[] = []
  const shared = { protocolVersion: 1, onProblem: (error: Error) => void problems.push(error) }
  return {
    server: new RpcPeer({
      ...shared,
      channel: left,
      local: server,
      handlers: { ...plain, ...handlers },
      remote: client,
      peerName: 'client',
    }),
    client: new RpcPeer({
      ...shared,
      channel: right,
      local: client,
      handlers: {},
      remote: server,
      peerName: 'server',
      protocolVersion: version,
    }),
    problems,
  }
}

const timeoutMs = 5000

test('a call is answered, and replies in any order find their calls', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { client } = connect({
    add: async ({ a, b }) => {
      await gates[a]?.promise
      return { sum: a + b }
    },
  })
  const first = client.call('add', { a: 0, b: 10 }, { timeoutMs })
  const second = client.call('add', { a: 1, b: 10 }, { timeoutMs })
  gates[1]!.resolve()
  assert.deepEqual(await second, { sum: 11 })
  gates[0]!.resolve()
  assert.deepEqual(await first, { sum: 10 })
  assert.equal(client.pendingCalls, 0)
})

test('an error of the handler arrives with its code, status and data', async () => {
  const { client } = connect({
    add: () => {
      throw Object.assign(new Error('no'), { code: 'X_NO' })
    },
  })
  await assert.rejects(client.call('add', { a: 1, b: 2 }, { timeoutMs }), { code: 'X_NO', message: 'no' })
})

test('a request of the wrong shape is refused with its path and harms nothing', async () => {
  const { client } = connect()
  await assert.rejects(client.call('add', { a: 1 } as never, { timeoutMs }), {
    code: 'CORE_PROTOCOL',
    message: /add\.b: expected number/,
  })
  assert.deepEqual(await client.call('add', { a: 1, b: 2 }, { timeoutMs }), { sum: 3 })
})

test('a reply of the wrong shape fails the call and ends the channel', async () => {
  const { client, problems } = connect()
  await assert.rejects(client.call('wrong', undefined, { timeoutMs }), { code: 'CORE_PROTOCOL' })
  await client.closed
  assert.equal(problems.length, 1)
})

test('an unknown method is refused', async () => {
  const { client } = connect()
  await assert.rejects(client.call('nope' as never, undefined as never, { timeoutMs }), { code: 'CORE_NO_METHOD' })
})

test('a late reply times out, and its handler is aborted', async () => {
  const aborted = Promise.withResolvers<void>()
  const { client } = connect({
    wait: (_request, context) => {
      context.onAbort(aborted.resolve)
      return new Promise(() => undefined)
    },
  })
  await assert.rejects(client.call('wait', undefined, { timeoutMs: 10 }), { code: 'CORE_TIMEOUT' })
  await aborted.promise
})

test('a call without a deadline waits until its peer disconnects', async () => {
  const { client } = connect({ wait: () => new Promise(() => undefined) })
  const endless = client.call('wait', undefined, { timeoutMs: Number.POSITIVE_INFINITY })
  const outcome = assert.rejects(endless, { code: 'CORE_PEER_GONE' })
  await assert.rejects(client.call('wait', undefined, { timeoutMs: 10 }), { code: 'CORE_TIMEOUT' })
  assert.equal(client.pendingCalls, 1)
  client.close()
  await outcome
})

test('giving up rejects the call, tells the handler and makes its sends useless', async () => {
  const context = Promise.withResolvers<CallContext>()
  const { client } = connect({
    wait: (_request, given) => {
      context.resolve(given)
      return new Promise(() => undefined)
    },
  })
  const call = client.open('wait', undefined, { timeoutMs })
  const handler = await context.promise
  const aborted = new Promise<void>((resolve) => handler.onAbort(resolve))
  call.abort()
  await assert.rejects(call.reply, { code: 'CORE_ABORTED' })
  await aborted
  assert.equal(handler.isAborted, true)
  assert.equal(handler.send('x'), false)
  await assert.rejects(handler.drained(), { code: 'CORE_ABORTED' })
  assert.equal(call.write(new Uint8Array(1)), false)
})

test('the end of the channel settles calls on both sides, and later calls fail at once', async () => {
  const aborted = Promise.withResolvers<void>()
  const { client, server } = connect({
    wait: (_request, context) => {
      context.onAbort(aborted.resolve)
      server.close()
      return new Promise(() => undefined)
    },
  })
  await assert.rejects(client.call('wait', undefined, { timeoutMs }), { code: 'CORE_PEER_GONE', message: 'server is gone' })
  await aborted.promise
  await client.closed
  await assert.rejects(client.call('add', { a: 1, b: 2 }, { timeoutMs }), { code: 'CORE_PEER_GONE' })
  client.close()
})

test('a peer that leaves ends the calls that it has begun, and calls on their way or later ones are refused as not begun', async () => {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const added: number[] = []
  const { client, server } = connect({
    wait: async () => {
      begun.resolve()
      await end.promise
    },
    add: ({ a }) => {
      added.push(a)
      return { sum: a }
    },
  })
  const waiting = client.call('wait', undefined, { timeoutMs })
  await begun.promise
  const onItsWay = client.call('add', { a: 1, b: 0 }, { timeoutMs })
  server.leave()
  server.leave()
  const refused = { code: 'CORE_PEER_LEAVING', status: 503 }
  await assert.rejects(onItsWay, refused)
  await assert.rejects(client.call('add', { a: 2, b: 0 }, { timeoutMs }), refused)
  assert.equal(client.pendingCalls, 1)
  end.resolve()
  await waiting
  assert.deepEqual(added, [])
  server.close()
  await client.closed
  await assert.rejects(client.call('add', { a: 3, b: 0 }, { timeoutMs }), { code: 'CORE_PEER_GONE' })
})

test('peers of different versions part at the first frame', async () => {
  const { client, server, problems } = connect({}, 2)
  await assert.rejects(client.call('add', { a: 1, b: 2 }, { timeoutMs }), { code: 'CORE_PEER_GONE' })
  await server.closed
  assert.match(problems[0]?.message ?? '', /speaks protocol/)
})

test('chunks of the caller arrive in order and come back as bytes', async () => {
  const { client } = connect()
  const call = client.open('echo', undefined, { timeoutMs, hasChunks: true })
  for (let i = 0; i < 100; i++) call.write(new Uint8Array(100).fill(i))
  call.end()
  const { body, bytes } = await call.reply
  assert.equal(body.length, 10_000)
  assert.deepEqual([bytes?.[0], bytes?.[150], bytes?.[9999]], [0, 1, 99])
})

test('chunks that come before the handler listens wait for it', async () => {
  const { client } = connect({
    echo: async (_request, context) => {
      await new Promise((resolve) => setImmediate(resolve))
      return collect(context)
    },
  })
  const call = client.open('echo', undefined, { timeoutMs, hasChunks: true })
  call.write(new Uint8Array(10))
  call.end()
  assert.equal((await call.reply).body.length, 10)
})

test('a handler that streams waits for a slow caller', async () => {
  const size = 64 * 1024
  let sent = 0
  const { client } = connect({
    stream: async ({ chunks }, context) => {
      for (let i = 0; i < chunks; i++) {
        sent++
        if (!context.send(i, new Uint8Array(size))) await context.drained()
      }
      return undefined
    },
  })
  const first = Promise.withResolvers<void>()
  const received: unknown[] = []
  const call = client.open(
    'stream',
    { chunks: 20, size },
    {
      timeoutMs,
      onChunk: (body) => {
        received.push(body)
        if (received.length === WINDOW_BYTES / size) first.resolve()
        return received.length > WINDOW_BYTES / size
      },
    },
  )
  await first.promise
  assert.equal(sent, WINDOW_BYTES / size)
  call.resume()
  await call.reply
  assert.deepEqual(
    received,
    Array.from({ length: 20 }, (_, i) => i),
  )
})

test('a notification is handled without a reply, and its failure is reported', async () => {
  const seen = Promise.withResolvers<number>()
  const { client, server, problems } = connect({
    add: ({ a }) => {
      seen.resolve(a)
      throw new Error('too much')
    },
  })
  client.notify('add', { a: 7, b: 0 })
  assert.equal(await seen.promise, 7)
  await assert.rejects(client.call('add', { a: 1, b: 1 }, { timeoutMs }), /too much/)
  assert.deepEqual(
    problems.map(({ message }) => message),
    ['too much'],
  )
  assert.equal(server.isClosed, false)
})
