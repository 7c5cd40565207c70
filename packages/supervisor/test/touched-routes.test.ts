import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CoreError } from '@svc/core'
import { createLogger } from '@svc/telemetry'
import { type TouchedRoutes, tellOfChange } from '../src/fleet/host-commands.ts'
import { hostsServing } from '../src/fleet/place.ts'
import type { ReachableHost } from '../src/fleet/reachable-host.ts'

const logger = createLogger({ level: 'silent', format: 'json', base: {} })

/** A host as far as this is about it. */
function host(id: string, answer: TouchedRoutes | Error): ReachableHost {
  const call = async () => {
    if (answer instanceof Error) throw answer
    return { routes: answer }
  }
  return { id, peer: { call } } as unknown as ReachableHost
}

const gone = new CoreError('CORE_PEER_GONE', 'gone')
const routesOf = (hosts: ReachableHost[], serving: string[]) =>
  tellOfChange(hosts, { site: 'shop', files: ['/a'], serving: new Set(serving) }, logger)

test('any route may be meant when a host that serves the site cannot say, or nobody serves it', async () => {
  assert.equal(await routesOf([], []), null)
  assert.equal(await routesOf([host('a', null), host('b', ['/x'])], ['a', 'b']), null)
  assert.equal(await routesOf([host('spare', ['/x'])], []), null)
  assert.equal(await routesOf([host('a', gone), host('spare', ['/x'])], ['a']), null)
})

test('the routes that hosts name are put together; what a host without pages of the site does not know matters to nobody', async () => {
  assert.deepEqual(await routesOf([host('a', ['/x', '/y']), host('b', ['/y', '/z'])], ['a', 'b']), ['/x', '/y', '/z'])
  assert.deepEqual(await routesOf([host('a', []), host('spare', null)], ['a']), [])
  assert.deepEqual(await routesOf([host('a', ['/x']), host('b', gone)], ['a', 'b']), ['/x'])
})

test('a site is rendered by its own hosts, and otherwise by those that are shared', () => {
  const endpoint = (id: string, sites: readonly string[] | '*') => ({ id, socket: '', token: '', sites })
  const endpoints = [endpoint('a', '*'), endpoint('b', '*'), endpoint('c', ['shop'])]
  assert.deepEqual([...hostsServing(endpoints, 'shop')], ['c'])
  assert.deepEqual([...hostsServing(endpoints, 'blog')], ['a', 'b'])
})
