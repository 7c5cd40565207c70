import type { Socket } from 'node:net'
import { createSocketChannel, RpcPeer } from '@svc/core'
import { controlClientMethods, controlMethods, PROTOCOL_VERSION } from '@svc/protocol'

/** The master, at the other end of a connection to its control socket. */
export type ControlPeer = RpcPeer<typeof controlClientMethods, typeof controlMethods>

/** Speaks to the master over a connection, as the commands do. */
export function controlPeer(socket: Socket): ControlPeer {
  return new RpcPeer({
    channel: createSocketChannel(socket),
    local: controlClientMethods,
    handlers: {},
    remote: controlMethods,
    protocolVersion: PROTOCOL_VERSION,
    peerName: 'master',
    onProblem: (error) => console.error(error),
  })
}
