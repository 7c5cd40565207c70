import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CoreError } from '@svc/core'
import { createLogger } from '@svc/telemetry'
import { type ChangeReach, propagateChange, surveySite } from '../../processes/src/host/host-commands.ts'
import type { ReachableHost } from '../../processes/src/host/running-host.ts'
import { hostsServing } from '../../processes/src/host/running-host.ts'

const logger = createLogger({ level: 'silent', format: 'json', base: {} })

/** A host as far as this is about it. */
function host(id: string, answer: ChangeReach['routes'] | Error, movesPaths = false): ReachableHost {
  const call = async () => {
    if (answer instanceof Error) throw answer
    return { routes: answer, movesPaths }
  }
  return { id, peer: { call } } as unknown as ReachableHost
}

const gone = new CoreError('CORE_PEER_GONE', 'gone')
const lost: string[] = []
const reachOf = (hosts: ReachableHost[], serving: string[]) => {
  const onExit = (id: string) => lost.push(id)
  return propagateChange(hosts, { site: 'shop', files: ['/a'], serving: new Set(serving), onExit }, logger)
}

const routesOf = async (hosts: ReachableHost[], serving: string[]) => (await reachOf(hosts, serving)).routes

test('any route may be affected when a host of the site cannot say, or no host serves it', async () => {
  assert.equal(await routesOf([], []), null)
  assert.equal(await routesOf([host('a', null), host('b', ['/x'])], ['a', 'b']), null)
  assert.equal(await routesOf([host('spare', ['/x'])], []), null)
  assert.equal(await routesOf([host('a', gone), host('spare', ['/x'])], ['a']), null)
})

test('routes of all hosts are merged; a host without pages of the site does not count', async () => {
  assert.deepEqual(await routesOf([host('a', ['/x', '/y']), host('b', ['/y', '/z'])], ['a', 'b']), ['/x', '/y', '/z'])
  assert.deepEqual(await routesOf([host('a', []), host('spare', null)], ['a']), [])
  assert.deepEqual(await routesOf([host('a', ['/x']), host('b', gone)], ['a', 'b']), ['/x'])
})

test('paths have moved when any host says so', async () => {
  assert.equal((await reachOf([host('a', ['/x']), host('b', null)], ['a'])).movesPaths, false)
  assert.equal((await reachOf([host('a', ['/x']), host('b', null, true)], ['a'])).movesPaths, true)
  assert.equal((await reachOf([host('a', null, true)], ['a'])).movesPaths, true)
})

test('a host that exits while it applies or scans a change is reported with the site', async () => {
  lost.length = 0
  await routesOf([host('a', gone), host('b', ['/x']), host('c', new CoreError('CORE_TIMEOUT', 'late'))], ['a', 'b', 'c'])
  assert.deepEqual(lost, ['a'])
  const inFlight: [string, readonly string[]][] = []
  const hosts = {
    endpoints: [{ id: 'a', socket: '', token: '', sites: '*' as const }],
    runningFor: () => [host('spare', []), host('a', gone)],
    noteInFlight: (id: string, sites: readonly string[]) => inFlight.push([id, sites]),
  }
  await assert.rejects(surveySite(hosts, 'shop'), { code: 'CORE_PEER_GONE' })
  assert.deepEqual(inFlight, [['a', ['shop']]])
  await assert.rejects(surveySite({ ...hosts, runningFor: () => [] }, 'shop'), { code: 'SUP_NOT_READY' })
})

test('a site is rendered by its own hosts, and otherwise by those that are shared', () => {
  const endpoint = (id: string, sites: readonly string[] | '*') => ({ id, socket: '', token: '', sites })
  const endpoints = [endpoint('a', '*'), endpoint('b', '*'), endpoint('c', ['shop'])]
  assert.deepEqual([...hostsServing(endpoints, 'shop')], ['c'])
  assert.deepEqual([...hostsServing(endpoints, 'blog')], ['a', 'b'])
})
