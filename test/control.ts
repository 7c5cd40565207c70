import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { StatusReport } from '@svc/protocol'
import type { Server } from '@svc/testkit'
import { type ControlPeer, controlPeer } from '../packages/supervisor/test/control-peer.ts'

const TIMEOUT_MS = 60_000

/** Run directory of a server that was started from a configuration. */
export function runDirOf(server: Server): string {
  return join(server.configFile ?? '', '../run')
}

/**
 * Asks the master over its control socket, as the commands do. A command is a process of its own and takes most of the time of the
 * processor while its answer is polled for.
 */
async function ask<Answer>(server: Server, call: (master: ControlPeer) => Promise<Answer>): Promise<Answer> {
  const socket = connect({ path: join(runDirOf(server), 'control.sock') })
  try {
    await once(socket, 'connect')
    const master = controlPeer(socket)
    return await call(master)
  } finally {
    socket.destroy()
  }
}

/** The answer behind `svc status`. */
export function statusOf(server: Server): Promise<StatusReport> {
  return ask(server, (master) => master.call('status', undefined, { timeoutMs: TIMEOUT_MS }))
}

/** The answer behind `svc sites`. */
export async function sitesOf(server: Server) {
  return (await ask(server, (master) => master.call('sites', undefined, { timeoutMs: TIMEOUT_MS }))).sites
}

/** Has the server take its changed configuration into service. Fails the test if it does not. */
export async function reloaded(server: Server): Promise<void> {
  const { ok, errors } = await ask(server, (master) => master.call('reload', undefined, { timeoutMs: TIMEOUT_MS }))
  assert.ok(ok, errors.join('\n'))
}
