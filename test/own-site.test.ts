// Starts first: it starts many processes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Child, startServer, svcCommand, tempSite } from '@svc/testkit'
import { testScenarios } from './site-scenarios.ts'
import { attachUnit } from './site-unit.ts'

testScenarios('own')

test('what has no effect in a site with a process of its own is logged when its unit serves', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': 'export default () => <p>first</p>', '.env.local': 'KEY=1\n' })
  const site = `[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\nprocess = "own"\n`
  const server = await startServer(t, { config: site })
  await attachUnit(t, server, 'one')
  await server.child.waitForLine('the notice', (line) => line.includes(`${root}/.env.local: is not read`))
  const listing = new Child(t, svcCommand, ['sites', '--config', server.configFile ?? ''])
  assert.equal((await listing.exited).code, 0)
  assert.match(listing.stderr, /^one: 1 problem; "svc routes one" lists them$/m)
  assert.doesNotMatch(server.child.stderr, /failed to survey/)
})
