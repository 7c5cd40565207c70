import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError, type CallContext, type ReplyWithBytes } from '@svc/core'
import type { RequestBody } from '@svc/http'
import type { RenderReply } from '@svc/protocol'
import { waitFor } from '@svc/testkit'
import { MemoryBody } from '../../engine/test/inject/memory-body.ts'
import { answered, begin, byId, get, post, startClient } from './host-client.ts'
import { report, TestHost } from './test-host.ts'

const refusal = (code: string) => {
  throw new AppError(code, 'refused', { status: 503 })
}
const aBody = () => new MemoryBody([Buffer.from('one'), Buffer.from('two')], 6, 10)

/** Answers with the id of a host and the body that it got. */
function echo(host: TestHost): void {
  host.render = (_request, call) => {
    if (!call.hasChunks) return answered(host.endpoint.id)
    const { promise, resolve } = Promise.withResolvers<ReplyWithBytes<RenderReply>>()
    let text = ''
    call.onChunk((bytes, ack) => {
      text += Buffer.from(bytes).toString()
      ack()
    })
    call.onEnd(() => resolve(answered(`${host.endpoint.id} ${text}`)))
    return promise
  }
}

test('a request of any method that a host refuses goes to one that accepts it, with its body', async (t) => {
  for (const code of ['RENDER_DRAINING', 'RENDER_UNKNOWN_SITE']) {
    for (const sites of ['*' as const, ['shop']]) {
      const { hosts, renderer, dir } = startClient(t)
      const [old, fresh] = [await TestHost.start(t, dir, 'old'), await TestHost.start(t, dir, 'fresh', sites)]
      old.begins = false
      echo(fresh)
      // By the time that a host refuses, its successor has been announced.
      old.render = () => {
        hosts.update([fresh.endpoint])
        return refusal(code)
      }
      for (const [request, body, text] of [
        [get, undefined, ''],
        [post, undefined, ''],
        [post, aBody(), ' onetwo'],
        [get, aBody(), ' onetwo'],
      ] as const) {
        hosts.update([old.endpoint])
        await waitFor('the old host', () => hosts.connectedPeer('shop') !== undefined)
        assert.equal(await begin(renderer, request, body).outcome, `complete fresh${text}`)
      }
      assert.equal(old.renders.length, 4)
    }
  }
})

test('a request that a host does not know the site of waits for the next set of hosts, and asks that host once', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const host = await TestHost.start(t, dir, 'a')
  host.begins = false
  host.render = () => refusal('RENDER_UNKNOWN_SITE')
  hosts.update([host.endpoint])
  const { outcome } = begin(renderer, post, aBody())
  await waitFor('the refusal', () => host.renders.length === 1 && hosts.connectedPeer('shop') === undefined)
  assert.notEqual(hosts.connectedPeer('other'), undefined)
  host.begins = true
  echo(host)
  hosts.sitesChanged(() => true)
  assert.equal(await outcome, 'complete a onetwo')
  assert.equal(host.renders.length, 2)
  host.begins = false
  host.render = () => refusal('RENDER_UNKNOWN_SITE')
  const gone = begin(renderer, post, aBody()).outcome
  await waitFor('the refusal', () => host.renders.length === 3 && hosts.connectedPeer('shop') === undefined)
  hosts.sitesChanged((site) => site !== 'shop')
  await assert.rejects(gone, { code: 'WORKER_NO_HOST', status: 503 })
})

test('a host that ends is sent nothing more, until another process listens in its place or it is announced again', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const host = await TestHost.start(t, dir, 'a', ['shop'])
  host.render = () => refusal('RENDER_DRAINING')
  hosts.update([host.endpoint])
  const { outcome } = begin(renderer, post)
  await waitFor('the refusal', () => host.renders.length === 1 && hosts.connectedPeer('shop') === undefined)
  host.render = byId(host)
  host.breakConnections()
  assert.equal(await outcome, 'complete a')
  host.render = () => refusal('RENDER_DRAINING')
  const announced = begin(renderer, post).outcome
  await waitFor('the next refusal', () => host.renders.length === 3 && hosts.connectedPeer('shop') === undefined)
  host.render = byId(host)
  hosts.update([host.endpoint])
  assert.equal(await announced, 'complete a', 'a host that is announced again is asked again')
})

test('a request of any method that is on its way to a host which ends goes to another one, with its body', async (t) => {
  for (const request of [get, post]) {
    for (const diesAtOnce of [true, false]) {
      const { hosts, lost, renderer, dir } = startClient(t)
      const [old, fresh] = [await TestHost.start(t, dir, 'old'), await TestHost.start(t, dir, 'fresh')]
      echo(fresh)
      hosts.update([old.endpoint])
      await waitFor('the old host', () => hosts.connectedPeer('shop') !== undefined)
      const { outcome } = begin(renderer, request, aBody())
      const early = begin(renderer, { ...request, site: 'other' }).outcome
      // Neither has been read by the host, which tells its last call before it ends.
      old.leave()
      if (diesAtOnce) process.nextTick(() => old.die())
      await waitFor('the refusal', () => hosts.connectedPeer('shop') === undefined)
      hosts.update([fresh.endpoint])
      assert.deepEqual(await Promise.all([outcome, early]), ['complete fresh onetwo', 'complete fresh'])
      assert.deepEqual([old.renders.length, lost.flatMap(([, sites]) => sites)], [0, []])
    }
  }
})

test('a request body is read when the host wants it, and not again when that host dies', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const host = await TestHost.start(t, dir, 'a')
  const begun = Promise.withResolvers<CallContext>()
  host.begins = false
  host.render = (_request, call) => {
    begun.resolve(call)
    return new Promise(() => undefined)
  }
  hosts.update([host.endpoint])
  const isRead = Promise.withResolvers<void>()
  const body: RequestBody = { isPresent: true, length: 1, read: () => isRead.resolve() }
  const { outcome } = begin(renderer, { ...get, kind: 'handler' }, body)
  report(await begun.promise, 'wants-body')
  await isRead.promise
  host.die()
  await assert.rejects(outcome, { code: 'CORE_PEER_GONE' })
})

test('a manifest that turns out stale after the body was read is not to be matched again', async (t) => {
  const { hosts, renderer, dir } = startClient(t)
  const host = await TestHost.start(t, dir, 'a')
  host.render = (_request, call) => {
    const { promise, reject } = Promise.withResolvers<RenderReply>()
    call.onEnd(() => reject(new AppError('RENDER_STALE_MANIFEST', 'stale', { status: 503 })))
    call.onChunk((_bytes, ack) => ack())
    return promise
  }
  hosts.update([host.endpoint])
  await assert.rejects(begin(renderer, post, aBody()).outcome, { code: 'WORKER_SITE_UNSETTLED', status: 503 })
  host.begins = false
  host.render = () => refusal('RENDER_STALE_MANIFEST')
  await assert.rejects(begin(renderer, post, aBody()).outcome, { code: 'RENDER_STALE_MANIFEST' })
})

test('a request that had not begun on hosts that died is retried each time, and is no suspect', async (t) => {
  const { hosts, lost, renderer, dir } = startClient(t)
  const ids = ['a', 'b', 'c', 'd']
  const dying = await Promise.all(ids.map((id) => TestHost.start(t, dir, id)))
  for (const host of dying) {
    host.begins = false
    host.render = (_request, call) => {
      report(call, 'queued')
      setImmediate(() => setImmediate(() => host.die()))
      return new Promise(() => undefined)
    }
  }
  hosts.update(dying.map(({ endpoint }) => endpoint))
  await waitFor('all', () => dying.every(({ openConnections }) => openConnections === 1))
  const { outcome } = begin(renderer, get)
  await waitFor('their deaths', () => lost.length === 4)
  assert.deepEqual(
    lost.map(([host, sites]) => [host, sites.length]).sort(),
    ids.map((id) => [id, 0]),
  )
  const last = await TestHost.start(t, dir, 'last')
  last.render = byId(last)
  hosts.update([last.endpoint])
  assert.equal(await outcome, 'complete last')
})

test('a request that waits is refused at its deadline, past the limit of its site, for a removed site and after the close', async (t) => {
  const { hosts, renderer } = startClient(t, { timeout_ms: 60_000, queue_max: 2 })
  const waiting = [begin(renderer, get), begin(renderer, post)]
  const other = renderer.describe('other')
  await assert.rejects(begin(renderer, get).outcome, { code: 'WORKER_QUEUE_FULL', status: 503 })
  await assert.rejects(renderer.describe('shop'), { code: 'WORKER_QUEUE_FULL' })
  // The place of a request whose client leaves is free again.
  waiting[1]?.source.abort()
  const next = begin(renderer, get).outcome
  hosts.sitesChanged((site) => site !== 'other')
  await assert.rejects(other, { code: 'WORKER_NO_HOST', status: 503 })
  const refusals = [waiting[0]?.outcome, next].map((outcome) =>
    assert.rejects(outcome as Promise<string>, { code: 'WORKER_NO_HOST' }),
  )
  hosts.close()
  await Promise.all(refusals)
  await assert.rejects(begin(renderer, get).outcome, { code: 'WORKER_NO_HOST' })
  const hasty = startClient(t, { timeout_ms: 5, queue_max: 2 })
  await assert.rejects(begin(hasty.renderer, get).outcome, { code: 'WORKER_NO_HOST', status: 503 })
  await assert.rejects(hasty.renderer.describe('shop'), { code: 'WORKER_NO_HOST' })
})

test('no request waits for hosts that are started too late, or for a unit that has been away for long', async (t) => {
  const { hosts, renderer } = startClient(t)
  const absent = { id: 'shared-1', socket: '/none', token: '', sites: '*' as const }
  hosts.update([{ ...absent, startsAt: Date.now() + 3_600_000 }])
  await assert.rejects(begin(renderer, get).outcome, { code: 'WORKER_NO_HOST', status: 503 })
  hosts.update([{ ...absent, startsAt: 0 }])
  const { outcome } = begin(renderer, get)
  hosts.update([{ ...absent, startsAt: Date.now() + 3_600_000 }])
  await assert.rejects(outcome, { code: 'WORKER_NO_HOST' })

  let now = 0
  t.mock.method(performance, 'now', () => now)
  hosts.update([{ id: 'own-shop', socket: '/none', token: '', sites: ['shop'] }])
  now = 59_000
  const patient = begin(renderer, get).outcome
  now = 61_000
  hosts.update([{ id: 'own-shop', socket: '/none', token: '', sites: ['shop'] }])
  await assert.rejects(patient, /svc serve --site shop/)
  await assert.rejects(begin(renderer, get).outcome, { code: 'WORKER_NO_HOST' })
})
