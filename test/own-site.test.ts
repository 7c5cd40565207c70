// Starts first: it starts many processes.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { Child, startServer, svcCommand, tempSite } from '@svc/testkit'
import { testScenarios } from './site-scenarios.ts'
import { attachUnit } from './site-unit.ts'

testScenarios('own')

test('settings without effect in a site with its own process are logged when its unit serves', async (t) => {
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

test('a site that changes while its unit is away is surveyed once the unit serves', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': 'export default () => <p>first</p>', '.env.local': 'KEY=1\n' })
  const site = `[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\nprocess = "own"\n`
  const server = await startServer(t, { config: site })
  const file = server.configFile ?? ''
  writeFileSync(file, readFileSync(file, 'utf8').replace('process = "own"', '$&\nenv = { COLOUR = "blue" }'))
  const reload = new Child(t, svcCommand, ['reload', '--config', file])
  assert.equal((await reload.exited).code, 0, reload.stderr)
  await attachUnit(t, server, 'one')
  await server.child.waitForLine('the notice', (line) => line.includes(`${root}/.env.local: is not read`))
  assert.doesNotMatch(server.child.stderr, /failed to survey/)
})
