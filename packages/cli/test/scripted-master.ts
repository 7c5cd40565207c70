import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { createSocketChannel, type Handlers, RpcPeer } from '@svc/core'
import { controlClientMethods, controlMethods, PROTOCOL_VERSION } from '@svc/protocol'
import type { Cleanup } from '@svc/testkit'

/** Replies of a scripted master; it rejects calls without one. */
export type ScriptedAnswers = Partial<Handlers<typeof controlMethods>>

const notScripted = () => {
  throw new Error('not scripted')
}

/** Answers on a control socket as a master would. Ends with the test. */
export async function scriptMaster(
  t: Cleanup,
  path: string,
  answers: ScriptedAnswers,
  protocolVersion = PROTOCOL_VERSION,
): Promise<void> {
  mkdirSync(dirname(path), { recursive: true })
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    new RpcPeer({
      channel: createSocketChannel(socket),
      local: controlMethods,
      handlers: {
        status: notScripted,
        reload: notScripted,
        stop: notScripted,
        sites: notScripted,
        routes: notScripted,
        purge: notScripted,
        purgeModules: notScripted,
        resetApp: notScripted,
        flushIsolates: notScripted,
        overrides: notScripted,
        resetOverride: notScripted,
        restartRenderers: notScripted,
        restartStatus: notScripted,
        ...answers,
      },
      remote: controlClientMethods,
      protocolVersion,
      peerName: 'client',
      onProblem: () => undefined,
    })
  })
  server.listen({ path })
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
}
