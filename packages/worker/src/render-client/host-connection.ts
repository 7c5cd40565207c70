import { connectSocketChannel, RpcPeer, withDeadline } from '@svc/core'
import { type HostEndpoint, PROTOCOL_VERSION, renderClientMethods, renderMethods } from '@svc/protocol'

/** The peer at the other end of a connected host. */
export type HostPeer = RpcPeer<typeof renderClientMethods, typeof renderMethods>

const CONNECT_TIMEOUT_MS = 5_000
const HELLO_TIMEOUT_MS = 5_000

/**
 * Connects to a render host and says hello with its token.
 * @throws the socket's error, CORE_TIMEOUT, CORE_PEER_GONE, or the host's refusal of the token
 */
export async function connectToHost(
  endpoint: HostEndpoint,
  workerId: number,
  onProblem: (error: Error) => void,
): Promise<HostPeer> {
  const connecting = connectSocketChannel(endpoint.socket)
  try {
    await withDeadline(connecting.connected, CONNECT_TIMEOUT_MS, `connecting to ${endpoint.socket}`)
  } catch (error) {
    connecting.destroy()
    throw error
  }
  const peer: HostPeer = new RpcPeer({
    channel: connecting.channel,
    local: renderClientMethods,
    handlers: {},
    remote: renderMethods,
    protocolVersion: PROTOCOL_VERSION,
    peerName: `render host ${endpoint.id}`,
    onProblem,
  })
  try {
    await peer.call('hello', { token: endpoint.token, worker: workerId }, { timeoutMs: HELLO_TIMEOUT_MS })
  } catch (error) {
    peer.close()
    throw error
  }
  return peer
}
