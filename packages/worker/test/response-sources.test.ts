import assert from 'node:assert/strict'
import { AppError, type CallContext, ReplyWithBytes } from '@svc/core'
import type { ResponseHead } from '@svc/http'
import type { RenderReply } from '@svc/protocol'
import { type ResponseScript, responseSourceContract, waitFor } from '@svc/testkit'
import { type CannedRender, CannedRenderer, complete, streamed } from './canned-renderer.ts'
import { get, post, startClient } from './host-client.ts'
import { CacheInstance } from './proxy-cache-instance.ts'
import { TestHost } from './test-host.ts'

/** Does one step after the other, each when the one before has found room. */
class Steps {
  #last: Promise<unknown> = Promise.resolve()

  add(step: () => unknown): void {
    // A step that finds no room any more belongs to an aborted response.
    this.#last = this.#last.then(step).catch(() => undefined)
  }
}

const cut = () => new AppError('UPSTREAM_CUT', 'broken off', { status: 502 })

/** Behaviour of a render host for one call. */
function hostScript(
  host: TestHost,
  call: CallContext,
  reply: (made: RenderReply | ReplyWithBytes<RenderReply>) => void,
): ResponseScript {
  const steps = new Steps()
  return {
    head: (status) => steps.add(() => call.send({ status, headers: [] } satisfies ResponseHead)),
    chunk: (bytes) => steps.add(() => (call.send(undefined, bytes) ? undefined : call.drained())),
    end: () => steps.add(() => reply(streamed)),
    whole: (status, body) => reply(new ReplyWithBytes<RenderReply>(complete(status), body)),
    breakOff: () => steps.add(() => host.breakConnections()),
    isAborted: () => call.isAborted,
  }
}

responseSourceContract('a render host', {
  // The window of the RPC.
  maxAheadBytes: 256 << 10,
  async start(t, sink) {
    const { hosts, renderer, dir } = startClient(t)
    const host = await TestHost.start(t, dir, 'a')
    const called = Promise.withResolvers<ResponseScript>()
    host.render = (_request, call) => {
      const { promise, resolve } = Promise.withResolvers<RenderReply | ReplyWithBytes<RenderReply>>()
      called.resolve(hostScript(host, call, resolve))
      return promise
    }
    hosts.update([host.endpoint])
    await waitFor('the host', () => hosts.connectedPeer('shop') !== undefined)
    // Not tried again when its host breaks off.
    renderer.render(post, undefined, Object.assign(sink, { queued: () => undefined }))
    return await called.promise
  },
})

responseSourceContract('the canned renderer', {
  maxAheadBytes: 0,
  async start(_t, sink) {
    const renderer = new CannedRenderer(() => assert.fail('no site is described'))
    let render: CannedRender | undefined
    renderer.answer = (started) => {
      render = started
    }
    renderer.render(get, undefined, Object.assign(sink, { queued: () => undefined }))
    const canned = render?.sink ?? assert.fail('a render has begun')
    const steps = new Steps()
    return {
      head: (status) => steps.add(() => canned.head({ status, headers: [] })),
      chunk: (bytes) => steps.add(() => new Promise<void>((resolve) => canned.chunk(bytes, resolve))),
      end: () => steps.add(() => canned.end(streamed)),
      whole: (status, body) => canned.complete(complete(status), body),
      breakOff: () => canned.fail(cut()),
      isAborted: () => renderer.aborted.length > 0,
    }
  },
})

for (const [name, field] of [
  ['a fill of the proxy cache', 'max-age=60'],
  ['a response that the proxy cache does not store', 'no-store'],
] as const) {
  const headers = [['cache-control', field]] as const
  responseSourceContract(name, {
    maxAheadBytes: 0,
    // A fill goes on for others when its client leaves.
    endsWithClient: field === 'no-store',
    async start(t, sink) {
      const instance = await CacheInstance.open(t)
      instance.worker().fetch('/a', sink)
      const upstream = await instance.upstream.request()
      const steps = new Steps()
      return {
        head: (status) => steps.add(() => upstream.head({ status, headers })),
        chunk: (bytes) => steps.add(() => upstream.chunk(bytes)),
        end: () => steps.add(() => upstream.end()),
        whole: (status, body) => upstream.answer(status, headers, body.toString()),
        breakOff: () => steps.add(() => upstream.fail(cut())),
        isAborted: () => upstream.isAborted,
      }
    },
  })
}
