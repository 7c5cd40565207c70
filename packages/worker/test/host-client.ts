import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ReplyWithBytes } from '@svc/core'
import type { RequestBody } from '@svc/http'
import type { RenderReply, RenderRequest } from '@svc/protocol'
import { tempDir } from '@svc/testkit'
import { HostRenderer } from '../src/render-client/host-renderer.ts'
import { HostSet } from '../src/render-client/host-set.ts'
import type { RenderSource } from '../src/render-client/renderer.ts'
import { complete } from './canned-renderer.ts'
import type { TestHost } from './test-host.ts'

export const get: RenderRequest = {
  site: 'shop',
  manifestVersion: 'v',
  kind: 'page',
  route: 'page:/',
  params: {},
  requestId: 'r',
  method: 'GET',
  url: 'http://shop.test/',
  headers: [],
  remoteAddress: '127.0.0.1',
  mayStream: true,
}
export const post: RenderRequest = { ...get, kind: 'handler', method: 'POST' }

/** A host set with its reports. */
export function startClient(t: TestContext, limits = { timeout_ms: 60_000, queue_max: 100 }) {
  const lost: [host: string, sites: readonly string[]][] = []
  const hosts = new HostSet({
    workerId: 1,
    limits: () => limits,
    events: {
      problem: (error) => assert.fail(error),
      lost: (host, sites) => lost.push([host, sites]),
    },
  })
  t.after(() => hosts.close())
  return { hosts, lost, renderer: new HostRenderer(hosts), dir: tempDir(t, 'rc') }
}

/** Starts a render whose outcome can be awaited. */
export function begin(renderer: HostRenderer, request: RenderRequest, body?: RequestBody, queued: boolean[] = []) {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let source: RenderSource | undefined
  let text = ''
  renderer.render(request, body, {
    attach: (own) => {
      source = own
    },
    queued: (isWaiting) => void queued.push(isWaiting),
    informational: () => assert.fail('a render sends no interim response'),
    whole: (_head, bytes) => resolve(`complete ${Buffer.from(bytes).toString()}`),
    head: ({ status }) => {
      text += `head ${status}`
    },
    chunk: (bytes) => {
      text += ` ${Buffer.from(bytes).toString()}`
      return true
    },
    end: () => resolve(`${text} end`),
    fail: reject,
  })
  return { outcome: promise, source: source ?? assert.fail('a render attaches its source at once') }
}

export const answered = (text: string) => new ReplyWithBytes<RenderReply>(complete(), Buffer.from(text))
export const byId = (host: TestHost) => () => answered(host.endpoint.id)
