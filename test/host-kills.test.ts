// Campaign: kills of render hosts.
import { test } from 'node:test'
import { endLoads, killAllHosts, startKilledServer } from './soak/host-kills.ts'

test('no GET fails when all render hosts and the spare are killed at once, and their successors too', async (t) => {
  const killed = await startKilledServer(t)
  for (let round = 1; round <= 3; round++) await killAllHosts(t, killed)
  await endLoads(killed)
})
