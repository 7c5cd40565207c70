import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '@svc/core'
import type { HeaderList } from '@svc/http'
import type { Cleanup } from '@svc/testkit'
import { type BodyFileRef, type ProxyAddress, ProxyStore, proxyAddress } from '../../src/index.ts'
import { HandClock } from '../store/store-fixture.ts'

/** Opens a proxy store that is closed with the test. */
export async function openProxyStore(t: Cleanup, cacheDir: string, maxBytes = 64 << 20, clock: Clock = new HandClock()) {
  const store = await ProxyStore.open({ cacheDir, maxBytes, clock, onProblem: (error) => assert.fail(error) })
  t.after(() => store.entries.close())
  return store
}

/** The address of a path and query on a host. */
export function addressOf(target: string, host = 'a.org', label = 'site'): ProxyAddress {
  const [path = '', query = ''] = target.split('?')
  return proxyAddress({ scheme: 'http', host, path, query, label, via: ['up'] }) ?? assert.fail(target)
}

/** The stored response. */
export interface Put {
  readonly host?: string
  readonly request?: HeaderList
  readonly vary?: readonly string[]
  readonly seq?: number
  /** @default 'site' */
  readonly label?: string
}

/** Stores a body: in a file when it is long. */
export async function put(store: ProxyStore, target: string, body: Uint8Array, given: Put = {}): Promise<boolean> {
  const { host, request = [], vary = [], seq = 0, label } = given
  const address = addressOf(target, host, label)
  const storing = { createdAt: 1_000_000, ttlMs: 60_000, swrMs: 0, vary, headers: [['a', '1']] as HeaderList }
  const kept = body.byteLength > 65_536 ? await inFile(store, store.keyOf(address, vary, request), body) : body
  return store.put({ address, request, status: 200, storing, body: kept, seq })
}

async function inFile(store: ProxyStore, key: string, body: Uint8Array): Promise<BodyFileRef> {
  const incoming = await store.files.begin('blog')
  await incoming.write(body, 0)
  const ref = await incoming.commit(key)
  await incoming.close()
  return ref
}

/** The body that is stored for a target; undefined: none, or not whole. */
export async function bodyOf(
  store: ProxyStore,
  target: string,
  given: Pick<Put, 'host' | 'request' | 'label'> = {},
): Promise<string | undefined> {
  const { found } = store.find(addressOf(target, given.host, given.label), given.request ?? [])
  if (found === undefined) return undefined
  const { bodyFile, body } = found.entry
  if (bodyFile === undefined) return Buffer.from(body).toString('latin1')
  const file = await store.files.open(bodyFile)
  try {
    return await file?.readFile('latin1')
  } finally {
    await file?.close()
  }
}

/** Files with bodies, and those that were never whole. */
export function filesOf(cacheDir: string): { bodies: string[]; incoming: string[] } {
  const list = (name: string) => {
    const dir = join(cacheDir, 'proxy', name)
    return existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: 'utf8' }) : []
  }
  return { bodies: list('bodies').filter((name) => name.includes('/')), incoming: list('incoming') }
}
