// Entry of a render host, forked by the master.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { asError, createIpcChannel, RpcPeer } from '@svc/core'
import { ExitCode, hostMethods, hostParentMethods, PROTOCOL_VERSION } from '@svc/protocol'
import { createLogRelay } from '@svc/telemetry'
import { guestDir } from '../thread/guest-files.ts'
import { RenderHost } from './render-host.ts'

// A terminal sends its signals to the whole process group: the master drains its children by message instead.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1'] as const) process.on(signal, () => undefined)

/** Longer than the master waits for its workers. */
const PURGE_TIMEOUT_MS = 30_000

/** The master gives a command of Redis 100 ms. */
const RELAY_TIMEOUT_MS = 500

/** The lines are in the log in any case. */
const LOG_TIMEOUT_MS = 5_000

/** An exit would wait for the threads of isolated-vm, one of which may never stop. */
const die = () => process.kill(process.pid, 'SIGKILL')

/** A program of this package: bundled beside this one, or its source. */
function program(bundle: string, source: string): URL {
  const bundled = new URL(bundle, import.meta.url)
  return existsSync(bundled) ? bundled : new URL(source, import.meta.url)
}

const relay = createLogRelay()
const host = new RenderHost({
  threadProgram: program('./render-thread.js', '../thread/main.ts').href,
  scanProgram: fileURLToPath(program('./site-scan.js', '../scan/main.ts')),
  guestDir: guestDir(),
  onLost: (site, reason) => master.notify('isolateLost', { site, reason }),
  sendPurge: (order) => master.call('purge', { order }, { timeoutMs: PURGE_TIMEOUT_MS }),
  relay: async (call, bytes) => {
    const { body, bytes: entry } = await master.open('sharedScript', call, { timeoutMs: RELAY_TIMEOUT_MS, bytes }).reply
    return { words: body.words, entry: entry && Buffer.from(entry) }
  },
  onLogLine: relay.take,
  die,
})
const master = new RpcPeer({
  channel: createIpcChannel(process),
  local: hostMethods,
  handlers: host.handlers,
  remote: hostParentMethods,
  protocolVersion: PROTOCOL_VERSION,
  peerName: 'master',
  onProblem: (error) => process.emitWarning(asError(error)),
})

relay.connect(({ items: lines, dropped }) => master.call('log', { lines, dropped }, { timeoutMs: LOG_TIMEOUT_MS }))
master.closed.then(() => host.close()).then(() => process.exit(ExitCode.ok), die)
