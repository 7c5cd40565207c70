import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asError, type CallContext, codeOf, type ReplyWithBytes } from '@svc/core'
import type { RenderReply, RenderRequest } from '@svc/protocol'
import { scanSite } from '@svc/site/scan'
import { waitFor } from '@svc/testkit'
import { MemoryBody } from '../../engine/test/inject/memory-body.ts'
import { streamed } from './canned-renderer.ts'
import { answered, begin, byId, get, post, startClient } from './host-client.ts'
import { report, TestHost } from './test-host.ts'

/** A host that dies when it gets a render. */
function dieOnRender(host: TestHost): void {
  host.render = () => {
    setImmediate(() => host.die())
    return new Promise(() => undefined)
  }
}

test('a render waits for the connection, and answers come whole or streamed', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const host = await TestHost.start(t, dir, 'a')
  host.render = byId(host)
  hosts.update([host.endpoint])
  assert.equal(hosts.connectedPeer('shop'), undefined)
  assert.equal(await begin(renderer, get).outcome, 'complete a')
  host.render = (_request, call) => {
    call.send({ status: 201, headers: [] })
    call.send(undefined, Buffer.from('one'))
    call.send(undefined, Buffer.from('two'))
    return streamed
  }
  assert.equal(await begin(renderer, get).outcome, 'head 201 one two end')
})

test('a sink is told when its render waits for a host, and for a place in one', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const queued: boolean[] = []
  const { outcome } = begin(renderer, get, undefined, queued)
  assert.deepEqual(queued, [true], 'no host yet')
  const host = await TestHost.start(t, dir, 'a')
  host.begins = false
  const called = Promise.withResolvers<CallContext>()
  const answer = Promise.withResolvers<ReplyWithBytes<RenderReply>>()
  host.render = (_request, call) => {
    called.resolve(call)
    return answer.promise
  }
  hosts.update([host.endpoint])
  const call = await called.promise
  assert.deepEqual(queued, [true, false])
  for (const progress of ['queued', 'queued', 'begun', 'wants-body'] as const) report(call, progress)
  answer.resolve(answered('done'))
  assert.equal(await outcome, 'complete done')
  assert.deepEqual(queued, [true, false, true, false])
})

test('GET and HEAD are tried once more on another host when theirs dies, and the loss is reported with the site', async (t) => {
  for (const method of ['GET', 'HEAD']) {
    const { hosts, lost, renderer, dir } = startClient(t)
    const [first, second] = [await TestHost.start(t, dir, 'a'), await TestHost.start(t, dir, 'b')]
    for (const host of [first, second]) dieOnRender(host)
    const third = await TestHost.start(t, dir, 'c', ['other'])
    hosts.update([first.endpoint, second.endpoint, third.endpoint])
    await waitFor('all', () => [first, second, third].every(({ openConnections }) => openConnections === 1))
    await waitFor('the last hello', () => hosts.connectedPeer('other') !== undefined)
    await assert.rejects(begin(renderer, { ...get, method }).outcome, { code: 'CORE_PEER_GONE', status: 502 })
    assert.deepEqual([first.renders.length, second.renders.length, third.renders.length], [1, 1, 0])
    await waitFor('two reports', () => lost.length === 2)
    assert.deepEqual(lost.map(([host, sites]) => `${host} ${sites}`).sort(), ['a shop', 'b shop'])
  }
})

test('a retry waits for the replacement of a host that died', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const first = await TestHost.start(t, dir, 'a')
  dieOnRender(first)
  hosts.update([first.endpoint])
  const { outcome } = begin(renderer, get)
  await waitFor('the death', () => first.renders.length === 1 && hosts.connectedPeer('shop') === undefined)
  const second = await TestHost.start(t, dir, 'b')
  second.render = byId(second)
  hosts.update([second.endpoint])
  assert.equal(await outcome, 'complete b')
})

test('a request with side effects, a body, or a response in flight is not retried', async (t) => {
  const cases: [name: string, request: RenderRequest, body: boolean, sendsHead: boolean][] = [
    ['POST', post, false, false],
    ['POST with body', post, true, false],
    ['GET with body', get, true, false],
    ['GET after the head', get, false, true],
  ]
  for (const [name, request, hasBody, sendsHead] of cases) {
    const { hosts, renderer, dir } = startClient(t)
    const [first, second] = [await TestHost.start(t, dir, 'a'), await TestHost.start(t, dir, 'b')]
    const render = (host: TestHost) => (_request: RenderRequest, call: CallContext) => {
      if (sendsHead) call.send({ status: 200, headers: [] })
      setImmediate(() => setImmediate(() => host.die()))
      return new Promise<RenderReply>(() => undefined)
    }
    for (const host of [first, second]) host.render = render(host)
    hosts.update([first.endpoint, second.endpoint])
    const body = hasBody ? new MemoryBody([Buffer.from('a')], 1, 10) : undefined
    const failure = await begin(renderer, request, body).outcome.catch(asError)
    assert.equal(codeOf(failure), 'CORE_PEER_GONE', name)
    assert.equal(first.renders.length + second.renders.length, 1, name)
  }
})

test('a render that was aborted before a host connected is never sent and never answered', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const host = await TestHost.start(t, dir, 'a')
  host.render = byId(host)
  const { outcome, source } = begin(renderer, get)
  outcome.then(assert.fail, assert.fail)
  source.abort()
  hosts.update([host.endpoint])
  assert.equal(await begin(renderer, { ...get, requestId: 'second' }).outcome, 'complete a')
  assert.deepEqual(
    host.renders.map(({ requestId }) => requestId),
    ['second'],
  )
})

test('giving up a render tells the host', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const host = await TestHost.start(t, dir, 'a')
  const begun = Promise.withResolvers<CallContext>()
  host.render = (_request, call) => {
    begun.resolve(call)
    return new Promise(() => undefined)
  }
  hosts.update([host.endpoint])
  const { outcome, source } = begin(renderer, get)
  outcome.then(assert.fail, assert.fail)
  const call = await begun.promise
  const told = Promise.withResolvers<void>()
  call.onAbort(() => told.resolve())
  source.abort()
  await told.promise
})

test('a new set leaves calls in flight alone and closes their host after them', async (t) => {
  const { hosts, lost, renderer, dir } = startClient(t)
  const [old, next] = [await TestHost.start(t, dir, 'a'), await TestHost.start(t, dir, 'b')]
  const begun = Promise.withResolvers<CallContext>()
  const release = Promise.withResolvers<void>()
  old.render = async (_request, call) => {
    begun.resolve(call)
    await release.promise
    return answered('the old one')
  }
  next.render = byId(next)
  hosts.update([old.endpoint])
  const { outcome } = begin(renderer, get)
  await begun.promise
  hosts.update([next.endpoint])
  assert.equal(await begin(renderer, get).outcome, 'complete b')
  assert.equal(old.openConnections, 1)
  release.resolve()
  assert.equal(await outcome, 'complete the old one')
  await waitFor('the old connection to end', () => old.openConnections === 0)
  assert.deepEqual(lost, [])
})

test('a host that is lost after its successor was announced is still reported', async (t) => {
  const { hosts, lost, renderer, dir } = startClient(t)
  const [old, next] = [await TestHost.start(t, dir, 'a'), await TestHost.start(t, dir, 'b')]
  const begun = Promise.withResolvers<void>()
  old.render = () => {
    begun.resolve()
    return new Promise(() => undefined)
  }
  next.render = byId(next)
  hosts.update([old.endpoint])
  const { outcome } = begin(renderer, get)
  await begun.promise
  hosts.update([next.endpoint])
  old.die()
  assert.equal(await outcome, 'complete b')
  await waitFor('the report', () => lost.length > 0)
  assert.deepEqual(lost, [['a', ['shop']]])
})

test('a host that is announced again keeps its connection and may get other sites', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const [shared, own] = [await TestHost.start(t, dir, 'shared'), await TestHost.start(t, dir, 'own', ['other'])]
  for (const host of [shared, own]) host.render = byId(host)
  hosts.update([shared.endpoint, own.endpoint])
  assert.equal(await begin(renderer, get).outcome, 'complete shared')
  assert.equal(await begin(renderer, { ...get, site: 'other' }).outcome, 'complete own')
  hosts.update([shared.endpoint, { ...own.endpoint, sites: ['shop'] }])
  assert.equal(await begin(renderer, get).outcome, 'complete own')
  assert.equal(await begin(renderer, { ...get, site: 'other' }).outcome, 'complete shared')
  assert.deepEqual([shared.connections, own.connections], [1, 1])
})

test('a connection that breaks is made again', async (t) => {
  const { hosts, lost, renderer, dir } = startClient(t)
  const host = await TestHost.start(t, dir, 'a')
  host.render = byId(host)
  hosts.update([host.endpoint])
  await begin(renderer, get).outcome
  host.breakConnections()
  assert.equal(await begin(renderer, get).outcome, 'complete a')
  assert.deepEqual(
    lost.slice(0, 1).map(([id]) => id),
    ['a'],
  )
  assert.equal(host.connections, 2)
})

test('a request body reaches the host whole, and one that is too long ends the render with its own error', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const host = await TestHost.start(t, dir, 'a')
  host.render = (_request, call) => {
    const { promise, resolve } = Promise.withResolvers<ReplyWithBytes<RenderReply>>()
    let size = 0
    call.onChunk((bytes, ack) => {
      size += bytes.byteLength
      ack()
    })
    call.onEnd(() => resolve(answered(`${size} bytes`)))
    return promise
  }
  hosts.update([host.endpoint])
  const chunks = Array.from({ length: 20 }, () => Buffer.alloc(50_000))
  assert.equal(await begin(renderer, post, new MemoryBody(chunks, undefined, 2e6)).outcome, 'complete 1000000 bytes')
  const tooLong = begin(renderer, post, new MemoryBody(chunks, undefined, 120_000)).outcome
  await assert.rejects(tooLong, { code: 'HTTP_BODY_TOO_LARGE', status: 413 })
})

test('a manifest is requested again when the host dies meanwhile', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const [first, second] = [await TestHost.start(t, dir, 'a'), await TestHost.start(t, dir, 'b')]
  const manifest = scanSite({ root: dir })
  second.describe = () => ({ manifest })
  first.describe = () => {
    setImmediate(() => first.die())
    return new Promise(() => undefined)
  }
  hosts.update([first.endpoint])
  const described = renderer.describe('shop')
  await waitFor('the death', () => first.connections === 1 && first.openConnections === 0)
  hosts.update([second.endpoint])
  assert.deepEqual(await described, JSON.parse(JSON.stringify(manifest)))
  second.describe = () => ({ manifest: { version: 1 } })
  await assert.rejects(renderer.describe('shop'), { code: 'CORE_PROTOCOL' })
})
