import { type Cleanup, startServer, tempDir, writeFiles } from '@svc/testkit'
import { fetchSuite } from '../../scripts/http-cache-tests.mjs'
import { accepted } from './accepted.ts'
import { type Judged, judge, kindOf } from './judge.ts'
import { Suite } from './suite.ts'

/** The suite's responses are fresh for as little as two seconds: what failed on a busy machine is tried again. */
const MAX_ROUNDS = 3

/** Fetches the suite, or finds it; undefined: it cannot be had. */
export async function findSuite(): Promise<Suite | undefined> {
  try {
    return new Suite(await fetchSuite())
  } catch {
    return undefined
  }
}

/** Runs the suite against the product with two workers and its proxy cache. */
export async function runSuite(t: Cleanup, suite: Suite): Promise<readonly Judged[]> {
  const origin = await suite.startOrigin(t)
  const dir = tempDir(t, 'cache-suite')
  // The suite compares fields that compression changes.
  const location = `location / { proxy_pass http://${origin}; proxy_http_version 1.1; proxy_cache suite; gzip off; }`
  writeFiles(dir, { 'suite.conf': `server { listen 127.0.0.1:0; ${location} }` })
  const server = await startServer(t, { config: `[server]\nworkers = 2\nvhosts = ["${dir}/suite.conf"]\n` })
  const groups = await suite.groups()
  const results = new Map(await suite.run(groups, server.url))
  for (let round = 2; round <= MAX_ROUNDS; round++) {
    const failed = new Set(unexpected(judge(groups, results)).map(({ test }) => test.id))
    if (failed.size === 0) break
    const again = groups.map((group) => ({ ...group, tests: group.tests.filter(({ id }) => failed.has(id)) }))
    for (const [id, result] of await suite.run(again, server.url)) if (failed.has(id)) results.set(id, result)
  }
  return judge(groups, results)
}

/** Failures that are not accepted. Checks request nothing. */
export function unexpected(judged: readonly Judged[]): readonly Judged[] {
  return judged.filter(
    ({ test, verdict }) => verdict === 'failed' && kindOf(test) !== 'check' && !Object.hasOwn(accepted, test.id),
  )
}
