// Campaign: a thousand tasks at one second.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, requireProgram, startRedis, startServer, tempSite, waitFor } from '@svc/testkit'
import { reloaded } from './control.ts'

const TASKS = 1_000
/** Both instances have the schedule before its second comes. */
const AHEAD_MS = 15_000

/** A cron expression for one second of one day. */
function at(time: Date): string {
  return `${time.getSeconds()} ${time.getMinutes()} ${time.getHours()} ${time.getDate()} ${time.getMonth() + 1} *`
}

test('a thousand tasks of one second run once each over two instances, while clients are served', {
  timeout: 120_000,
}, async (t) => {
  const program = requireProgram(t, 'redis-server')
  if (program === undefined) return
  const redis = await startRedis(t, program)
  const seen: string[] = []
  const held = Promise.withResolvers<void>()
  const upstream = createServer(({ headers }, response) => {
    seen.push(String(headers['x-svc-task']))
    void held.promise.then(() => response.writeHead(204).end())
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.after(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const site = tempSite(t, { 'public/a.txt': 'a' })
  const base = `[server]
listen = "127.0.0.1:0"
workers = 2
[redis]
url = "${redis.url}"
[[sites]]
id = "one"
root = "${site}"
hostnames = ["one.localhost"]
[[route_rules]]
pattern = "/task/**"
upstream = "http://127.0.0.1:${(upstream.address() as AddressInfo).port}"
`
  const servers = await Promise.all(
    ['web-a', 'web-b'].map((id) => startServer(t, { config: `${base}[scaling]\ninstance_id = "${id}"\n` })),
  )
  const due = new Date(Date.now() + AHEAD_MS)
  const tasks = Array.from(
    { length: TASKS },
    (_, n) => `[[tasks]]\nname = "t${n}"\nschedule = "${at(due)}"\nhandler = "http::POST /task/${n}"\n`,
  )
  for (const { configFile } of servers) appendFileSync(configFile ?? '', tasks.join(''))
  await Promise.all(servers.map(reloaded))
  assert.ok(Date.now() < due.getTime(), 'the schedule is in service before its second')

  await waitFor('the first tasks reach the upstream', () => seen.length > 0, PROCESS_WAIT_MS)
  // No task ends before its response: clients do not wait for them.
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => fetchHttp(`${servers[n % 2]?.url}/a.txt?${n}`, { host: 'one.localhost' })),
  )
  assert.ok(answers.every(({ status, text }) => status === 200 && text === 'a'))
  assert.ok(seen.length < TASKS, 'tasks still wait for their turn')
  held.resolve()
  const endedOn = async (url: string) => {
    const { text } = await fetchHttp(`${url}/__svc/metrics`)
    return Number(/^svc_task_runs_total\{state="ok"\} (\d+)/m.exec(text)?.[1] ?? 0)
  }
  await waitFor(
    'all runs have ended',
    async () => {
      const ended = await Promise.all(servers.map(({ url }) => endedOn(url)))
      return ended.reduce((sum, count) => sum + count, 0) >= TASKS
    },
    PROCESS_WAIT_MS,
  )
  assert.equal(new Set(seen).size, TASKS)
  assert.equal(seen.length, TASKS)
})
