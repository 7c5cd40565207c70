import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { SiteCompiler, SiteResolver } from '@svc/compile'
import { ModuleCache } from '@svc/compile/caches'
import type { SegmentNode, SiteManifest } from '@svc/site'
import { tempDir, tempSite } from '@svc/testkit'
import { cryptoOperation } from '../src/thread/crypto-operations.ts'
import { filesOfRoute, routeById, routeIdOf } from '../src/thread/route-files.ts'
import { mapStack } from '../src/thread/stack-mapper.ts'

test('positions in a stack lead back through both source maps, and frames of the guest are left out', async (t) => {
  const source =
    'type A = {\n  b: number\n}\n\nexport async function f(a: A) {\n  await null\n  throw new Error(String(a.b))\n}\n'
  const root = tempSite(t, { 'f.ts': source })
  const dir = tempDir(t)
  const cache = new ModuleCache({ modules: dir, index: dir, bytecode: dir })
  const compiler = new SiteCompiler({ resolver: new SiteResolver(root), cache, mode: 'production', onLastGood: () => undefined })
  const file = join(root, 'f.ts')
  const module = await compiler.load(file)
  const lines = module.code.split('\n')
  const line = lines.findIndex((text) => text.includes('throw new Error'))
  const column = lines[line]?.indexOf('new Error') ?? 0
  const stack = [
    'Error: 1',
    `    at f (${file}:${line + 1}:${column + 1})`,
    `    at ${file}:${line + 1}:${column + 1}`,
    '    at begin (guest.js:1:200)',
    '    at <anonymous>',
    '    at other (/else/where.ts:1:1)',
  ].join('\n')
  assert.equal(
    mapStack(stack, (id) => (id === file ? module.maps : undefined)),
    `Error: 1\n    at f (${file}:7:9)\n    at ${file}:7:9\n    at <anonymous>\n    at other (/else/where.ts:1:1)`,
  )
})

test('digests and HMACs are those of Node', () => {
  const data = randomBytes(100)
  const key = randomBytes(32)
  const run = (operation: 'digest' | 'hmac', fields: object) => cryptoOperation(operation, JSON.stringify(fields), data)
  assert.throws(() => run('digest', { algorithm: 'MD5' }), /unsupported hash/)
  const names: Record<string, string> = { 'SHA-1': 'sha1', 'SHA-256': 'sha256', 'SHA-384': 'sha384', 'sha-512': 'sha512' }
  for (const [name, node] of Object.entries(names)) {
    assert.deepEqual(run('digest', { algorithm: name }), createHash(node).update(data).digest())
  }
  const expected = createHmac('sha256', key).update(data).digest()
  assert.deepEqual(run('hmac', { hash: 'SHA-256', key: key.toString('base64') }), expected)
})

test('AES-GCM round trips, and what was changed does not decrypt', () => {
  const text = Buffer.from('secret')
  for (const [keyBytes, tagLength, additionalData] of [
    [16, 128, undefined],
    [32, 96, 'YWRk'],
  ] as const) {
    const fields = {
      key: randomBytes(keyBytes).toString('base64'),
      iv: randomBytes(12).toString('base64'),
      tagLength,
      additionalData,
    }
    const run = (direction: string, data: Uint8Array) =>
      cryptoOperation('aes-gcm', JSON.stringify({ ...fields, direction }), data)
    const sealed = run('encrypt', text)
    assert.equal(sealed.byteLength, text.byteLength + tagLength / 8)
    assert.deepEqual(run('decrypt', sealed), text)
    assert.throws(() => run('decrypt', Buffer.concat([sealed.subarray(0, -1), Buffer.of((sealed.at(-1) ?? 0) ^ 1)])))
    assert.throws(() => run('decrypt', sealed.subarray(0, 3)), /shorter than its tag/)
  }
})

test('a route needs the files of its tree and of what stands in when it fails, and no static ones', () => {
  const leaf = (page: string): SegmentNode => ({ segment: 'x', page, metadata: [], slots: {} })
  const image = (file: string, contentType: string | null) =>
    ({ type: 'icon', file, pattern: '/icon', contentType, hasIds: false }) as const
  const tree: SegmentNode = {
    segment: '',
    layout: 'layout',
    error: 'error',
    metadata: [image('icon.png', 'image/png'), image('icon.tsx', null)],
    slots: { children: leaf('page'), side: null, cart: { ...leaf('cart'), loading: 'loading' } },
  }
  const notFound: SegmentNode = { segment: '', layout: 'layout', notFound: 'not-found', metadata: [], slots: {} }
  const route = {
    id: 'page:/x',
    pattern: '/x',
    segments: [],
    kind: 'page',
    file: 'page',
    tree,
    metadata: null,
    slotParams: [],
  } as const
  const manifest = {
    routes: [route],
    notFound,
    globalError: 'global-error',
    middleware: { file: 'middleware', matcher: null },
  } as unknown as SiteManifest
  assert.deepEqual(filesOfRoute(routeById(manifest, 'page:/x'), manifest).sort(), [
    'cart',
    'error',
    'global-error',
    'icon.tsx',
    'layout',
    'loading',
    'not-found',
    'page',
  ])
  assert.deepEqual(filesOfRoute(routeById(manifest, routeIdOf('middleware', '')), manifest), ['middleware'])
  assert.deepEqual(filesOfRoute(routeById(manifest, routeIdOf('not-found', '')), manifest), [
    'layout',
    'not-found',
    'global-error',
  ])
  assert.throws(() => routeById(manifest, 'page:/y'), { code: 'RENDER_UNKNOWN_ROUTE' })
})
