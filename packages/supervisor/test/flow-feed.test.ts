import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { CallOptions, RpcCall } from '@svc/core'
import type { Flow } from '@svc/protocol'
import { FlowFeed } from '../src/flows/flow-feed.ts'

const flow = (path: string, site = 'shop', reason: Flow['reason'] = 'failed'): Flow => ({
  request_id: path,
  at: '2026-01-01T00:00:00.000Z',
  site,
  method: 'GET',
  path,
  status: 500,
  duration_ms: 1,
  reason,
  stages: [],
})

/** A worker whose calls wait until the test ends them. */
class ScriptedWorker {
  readonly calls: { readonly options: CallOptions; isAborted: boolean; fail: (error: Error) => void }[] = []
  readonly peer = { open: ((_name: string, _request: unknown, options: CallOptions) => this.#open(options)) as never }

  #open(options: CallOptions): Pick<RpcCall<undefined>, 'reply' | 'abort'> {
    const { promise, reject } = Promise.withResolvers<never>()
    const call = { options, isAborted: false, fail: reject }
    this.calls.push(call)
    const abort = () => {
      call.isAborted = true
      reject(new Error('aborted'))
    }
    return { reply: promise, abort }
  }

  record(flows: readonly Flow[], dropped = 0): void {
    this.calls.at(-1)?.options.onChunk?.(dropped, Buffer.from(JSON.stringify(flows)))
  }
}

/** A reader that notes paths, and numbers of missing flows. */
function reader() {
  const got: unknown[] = []
  const call = {
    abort: (): void => assert.fail('no listener'),
    send: (body: unknown, bytes?: Uint8Array | string) => {
      got.push(body ?? JSON.parse(String(bytes)).path)
      return true
    },
    drained: async () => undefined,
    onAbort: (listener: () => void) => {
      call.abort = listener
    },
  }
  return { got, call }
}

test('workers send flows only while there is a reader, and once for all readers', async () => {
  const worker = new ScriptedWorker()
  const feed = new FlowFeed(() => [worker])
  feed.joined(worker)
  assert.equal(worker.calls.length, 0)
  const [one, other] = [reader(), reader()]
  const following = [feed.follow({}, one.call), feed.follow({}, other.call)]
  feed.joined(worker)
  assert.deepEqual(
    worker.calls.map(({ options }) => options.timeoutMs),
    [Number.POSITIVE_INFINITY],
  )
  one.call.abort()
  worker.record([flow('/a')])
  assert.deepEqual([one.got, other.got], [[], ['/a']])
  assert.equal(worker.calls[0]?.isAborted, false)
  other.call.abort()
  await Promise.all(following)
  assert.equal(worker.calls[0]?.isAborted, true)
  await turn()
  void feed.follow({}, reader().call)
  assert.equal(worker.calls.length, 2, 'followed again')
})

test('readers get the flows of their sites and reasons, and are told of missing ones', () => {
  const worker = new ScriptedWorker()
  const feed = new FlowFeed(() => [worker])
  const [all, own, slow, none] = [reader(), reader(), reader(), reader()]
  void feed.follow({}, all.call)
  void feed.follow({ sites: ['shop'] }, own.call)
  void feed.follow({ sites: ['shop', 'blog'], reason: 'slow' }, slow.call)
  void feed.follow({ sites: [] }, none.call)
  worker.record([flow('/1'), flow('/2', 'blog', 'slow'), flow('/3', '', 'sample')])
  worker.record([flow('/4')], 7)
  assert.deepEqual(all.got, ['/1', '/2', '/3', 7, '/4'])
  assert.deepEqual(own.got, ['/1', 7, '/4'])
  assert.deepEqual(slow.got, ['/2', 7])
  assert.deepEqual(none.got, [7])
  assert.throws(() => worker.record([{ ...flow('/5'), status: 'x' } as never]), /status/)
})

test('a worker that hangs holds up no other; one that ends is forgotten, and its successor is followed', async () => {
  const [hung, other, successor] = [new ScriptedWorker(), new ScriptedWorker(), new ScriptedWorker()]
  const serving = [hung, other]
  const feed = new FlowFeed(() => serving)
  const { got, call } = reader()
  const following = feed.follow({}, call)
  other.record([flow('/other')])
  hung.calls[0]?.fail(new Error('killed'))
  await turn()
  serving[0] = successor
  feed.joined(successor)
  successor.record([flow('/successor')])
  assert.deepEqual(got, ['/other', '/successor'])
  call.abort()
  await following
  assert.deepEqual(
    [hung, other, successor].map(({ calls }) => calls.map(({ isAborted }) => isAborted)),
    [[false], [true], [true]],
  )
})
