// Starts first: it has hundreds of conversations with both engines.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Child, type Cleanup, fetchHttp } from '@svc/testkit'
import type { HostileCase } from './hostile/case.ts'
import { framingCases } from './hostile/framing.ts'
import { headerCases } from './hostile/header-fields.ts'
import { pipeliningCases } from './hostile/pipelining.ts'
import { converse, type Outcome } from './hostile/raw-client.ts'
import { requestLineCases } from './hostile/request-line.ts'
import { responseSplittingCases } from './hostile/response-splitting.ts'
import { sizeCases } from './hostile/sizes.ts'
import { endingCases, idleCases, slowInputCases } from './hostile/slow-input.ts'
import { smugglingCases, unpreventableCases } from './hostile/smuggling.ts'
import type { EngineName } from './start-engine.ts'

const program = fileURLToPath(new URL('./fixtures/engine-server.ts', import.meta.url))
/** Conversations at a time: enough to overlap the waiting, not enough to starve two cores. */
const CONCURRENCY = 40

interface Facts {
  readonly pid: number
  readonly marks: Readonly<Record<string, number>>
}

interface Engine {
  readonly port: number
  readonly pid: number
}

async function startEngine(t: Cleanup, engine: EngineName): Promise<Engine> {
  const env = { ...process.env, UWS_HTTP_MAX_HEADERS_SIZE: '16384' }
  const child = new Child(t, process.execPath, ['--disable-warning=ExperimentalWarning', program, JSON.stringify({ engine })], {
    env,
  })
  return JSON.parse(await child.waitForLine('port', (line) => line.startsWith('{"port"'))) as Engine
}

function describeOutcome(outcome: Outcome): string {
  return JSON.stringify({ ...outcome, text: outcome.text.slice(0, 600) })
}

/** Complaints about one outcome, none when it is allowed. */
function complaints(hostile: HostileCase, outcome: Outcome): string[] {
  const found: string[] = []
  const wanted = hostile.allow.map((statuses) => (hostile.then === 'open' ? [...statuses, 200] : statuses).join(' '))
  if (outcome.isCutWhileSending && hostile.then !== 'open') wanted.push('')
  if (!wanted.includes(outcome.statuses.join(' '))) found.push(`statuses should be one of ${JSON.stringify(wanted)}`)
  if (hostile.then !== 'any' && !outcome.isClosed) found.push('the connection should have been closed')
  if (hostile.contains !== undefined && !outcome.text.includes(hostile.contains)) found.push(`should contain ${hostile.contains}`)
  if (hostile.lacks !== undefined && outcome.text.includes(hostile.lacks)) found.push(`should not contain ${hostile.lacks}`)
  return found
}

async function inPool<Item>(items: readonly Item[], run: (item: Item, index: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index]
      if (item !== undefined) await run(item, index)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, lane))
}

async function facts(port: number): Promise<Facts> {
  const answer = await fetchHttp(`http://127.0.0.1:${port}/facts`)
  assert.equal(answer.status, 200)
  return JSON.parse(answer.text) as Facts
}

/** Holds all conversations, then asks a clean question of the same process, then looks at what ran. */
async function runGroup(server: Engine, firstMark: number, cases: readonly HostileCase[]): Promise<void> {
  const failures: string[] = []
  await inPool(cases, async (hostile, index) => {
    try {
      const outcome = await converse(server.port, hostile, `/marker/${firstMark + index}`)
      const found = complaints(hostile, outcome)
      if (found.length > 0) failures.push(`${hostile.name}: ${found.join('; ')}\n    ${describeOutcome(outcome)}`)
    } catch (error) {
      failures.push(`${hostile.name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  })
  const { pid, marks } = await facts(server.port)
  assert.equal(pid, server.pid)
  for (const [index, hostile] of cases.entries()) {
    const ran = marks[firstMark + index] ?? 0
    if (!(hostile.marks ?? [0]).includes(ran)) failures.push(`${hostile.name}: the hidden request ran ${ran} times`)
  }
  assert.deepEqual(failures, [], `${failures.length} of ${cases.length}:\n${failures.join('\n')}`)
}

describe('hostile HTTP', { concurrency: true }, () => {
  const groups = {
    'request lines': requestLineCases,
    'header fields': headerCases,
    framing: framingCases,
    smuggling: smugglingCases,
    'what cannot be prevented': unpreventableCases,
    pipelining: pipeliningCases,
    'input in pieces': slowInputCases,
    'clients that stop': idleCases,
    'clients that leave': endingCases,
    'huge and tiny': sizeCases,
    'response splitting': responseSplittingCases,
  } as const
  const started: Partial<Record<EngineName, Engine>> = {}
  const children: (() => unknown)[] = []
  before(async () => {
    const cleanup = { after: (end: () => unknown) => void children.push(end) } as Cleanup
    const start = async (engine: EngineName) => {
      started[engine] = await startEngine(cleanup, engine)
    }
    await Promise.all([start('uws'), start('node')])
  })
  after(() => Promise.all(children.map((end) => end())))
  const engineOf = (name: EngineName) => started[name] ?? assert.fail(`engine ${name} has not started`)

  for (const [index, [name, cases]] of Object.entries<readonly HostileCase[]>(groups).entries()) {
    // Each group has marks of its own: the groups share a process.
    const firstMark = index * 1000
    const ofNode = cases.map((hostile) => ({ ...hostile, ...hostile.node }))
    test(`uws: ${name}: ${cases.length} conversations`, () => runGroup(engineOf('uws'), firstMark, cases))
    test(`node: ${name}: ${cases.length} conversations`, () => runGroup(engineOf('node'), firstMark, ofNode))
  }

  test('a body that trickles in for longer than the idle time of the library is served', async (t) => {
    const { port } = engineOf('uws')
    const parts = 13
    const request = httpRequest({ port, method: 'POST', path: '/echo', headers: { 'content-length': parts } })
    const answer = once(request, 'response')
    let sent = 0
    const timer = setInterval(() => {
      request.write('t')
      if (++sent === parts) clearInterval(timer)
    }, 1000)
    t.after(() => clearInterval(timer))
    const [response] = (await answer) as [IncomingMessage]
    assert.equal(response.statusCode, 200)
    assert.equal(response.headers['content-length'], String(parts))
    response.resume()
  })

  test('every case has a name of its own', () => {
    const names = Object.entries(groups).flatMap(([group, cases]) => cases.map((hostile) => `${group}: ${hostile.name}`))
    assert.equal(new Set(names).size, names.length)
    assert.ok(names.length >= 150)
  })
})
