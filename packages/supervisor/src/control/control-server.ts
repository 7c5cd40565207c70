import { type Clock, createSocketChannel, type Handlers, PrivateServer, RpcPeer } from '@svc/core'
import { controlClientMethods, controlMethods, PROTOCOL_VERSION } from '@svc/protocol'

/** Handlers of the command line's calls to a running master. */
export type ControlHandlers = Handlers<typeof controlMethods>

/** Requests are a few words: this is ample. */
const MAX_REQUEST_BYTES = 1024 * 1024

/** Makes the server that answers the command line. */
export function controlServer(
  path: string,
  clock: Clock,
  handlers: ControlHandlers,
  onProblem: (error: Error) => void,
): PrivateServer {
  const common = { local: controlMethods, handlers, remote: controlClientMethods, protocolVersion: PROTOCOL_VERSION }
  return new PrivateServer(path, clock, (socket) => {
    const channel = createSocketChannel(socket, { maxFrameBytes: MAX_REQUEST_BYTES })
    new RpcPeer({ ...common, channel, peerName: 'control client', onProblem })
  })
}
