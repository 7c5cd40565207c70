import type { WebSocketEvents, WebSocketPeer } from '@svc/http'
import { closeFrame, SEND_HIGH_WATER_BYTES } from '@svc/http'
import type WebSocket from 'ws'
import { LazyTimer } from '../http/lazy-timer.ts'

/** Two open ends. */
interface SocketPair {
  readonly upstream: WebSocket
  /** Opens the end of the client. */
  readonly accept: (events: WebSocketEvents) => WebSocketPeer
  /** Both ends are cut when nothing has come from either for so long. */
  readonly idleMs: number
  /** Called once, when both ends are closed or about to be. */
  readonly release: () => void
}

/** Close code for the client if the upstream violates the protocol (1014 is "bad gateway" in the registry of RFC 6455). */
const BAD_GATEWAY = 1014

/**
 * Passes messages between two WebSockets, no faster than each takes them, and closes each as the other was closed. Pings are
 * answered by each end for itself; where the client sends one the upstream is sent one too, so that a client that keeps its
 * connection up by pings does so as long as the upstream is there.
 */
export function joinSockets({ upstream, accept, idleMs, release }: SocketPair): void {
  let isProtocolBroken = false
  let isOver = false
  const waiting: (() => void)[] = []
  const timer = new LazyTimer(() => {
    upstream.terminate()
    client.terminate()
    finish()
  })
  const finish = () => {
    if (isOver) return
    isOver = true
    timer.close()
    for (const ack of waiting.splice(0)) ack()
    release()
  }
  const sent = () => {
    if (upstream.bufferedAmount < SEND_HIGH_WATER_BYTES) for (const ack of waiting.splice(0)) ack()
  }
  const client = accept({
    message(data, isBinary, ack) {
      timer.set(idleMs)
      upstream.send(data, { binary: isBinary }, sent)
      if (upstream.bufferedAmount < SEND_HIGH_WATER_BYTES) ack()
      else waiting.push(ack)
    },
    drained: () => upstream.resume(),
    pinged() {
      // A live peer answers the ping. No ping is queued behind data that the upstream does not take.
      if (upstream.bufferedAmount === 0) upstream.ping()
    },
    closed(code, reason) {
      if (code === 1006) upstream.terminate()
      else closeUpstream(upstream, code, reason)
      finish()
    },
  })
  upstream.on('message', (data: Buffer, isBinary: boolean) => {
    timer.set(idleMs)
    if (!client.send(data, isBinary)) upstream.pause()
  })
  upstream.on('ping', () => timer.set(idleMs))
  upstream.on('pong', () => timer.set(idleMs))
  upstream.on('error', () => {
    isProtocolBroken = true
  })
  upstream.on('close', (code: number, reason: Buffer) => {
    if (code !== 1006) client.close(code, reason.toString())
    else if (isProtocolBroken) client.close(BAD_GATEWAY, '')
    else client.terminate()
    finish()
  })
  timer.set(idleMs)
  upstream.resume()
}

function closeUpstream(upstream: WebSocket, code: number, reason: string): void {
  const frame = closeFrame(code, reason)
  // Paused, it would never see the response to the closing frame.
  upstream.resume()
  if (frame.code === undefined) upstream.close()
  else upstream.close(frame.code, frame.reason)
}
