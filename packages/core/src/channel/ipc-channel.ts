import { CoreError } from '../errors/errors.ts'
import type { Channel, Frame } from './channel.ts'
import { ClosedSignal } from './channel.ts'

/** The part of `process`, `ChildProcess` and cluster `Worker` that carries messages. */
interface IpcEndpoint {
  send?(message: unknown, callback?: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  on(event: 'disconnect', listener: () => void): unknown
  disconnect?(): void
}

interface Envelope {
  readonly svc: 1
  readonly h: unknown
  readonly b?: Uint8Array
}

function isEnvelope(message: unknown): message is Envelope {
  return typeof message === 'object' && message !== null && 'svc' in message && message.svc === 1
}

/**
 * A channel over the IPC pipe of a forked process. Fork with `serialization: 'advanced'` where bytes are sent.
 * Messages of others on the same pipe (node:cluster has its own) pass by unseen.
 */
export function createIpcChannel(endpoint: IpcEndpoint): Channel {
  const closed = new ClosedSignal()
  let isConnected = true
  let isEnding = false
  /** Messages that are not in the pipe yet: a disconnect would drop them. */
  let pending = 0
  endpoint.on('disconnect', () => {
    isConnected = false
    closed.fire()
  })
  const disconnectWhenSent = () => {
    if (!isEnding || !isConnected || pending > 0) return
    isConnected = false
    endpoint.disconnect?.()
  }
  const sent = (error: Error | null) => {
    pending--
    if (error !== null) closed.fire(error)
    disconnectWhenSent()
  }
  return {
    send(head, bytes) {
      if (closed.isClosed || endpoint.send === undefined) return
      const own = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
      const envelope: Envelope = own === undefined ? { svc: 1, h: head } : { svc: 1, h: head, b: own }
      pending++
      try {
        endpoint.send(envelope, sent)
      } catch (error) {
        sent(error instanceof Error ? error : new CoreError('CORE_PEER_GONE', 'the pipe is closed', { cause: error }))
      }
    },
    onFrame(listener: (frame: Frame) => void) {
      endpoint.on('message', (message) => {
        if (!closed.isClosed && isEnvelope(message)) listener({ head: message.h, bytes: message.b })
      })
    },
    onClosed: (listener) => closed.listen(listener),
    close() {
      if (closed.isClosed) return
      closed.fire()
      isEnding = true
      disconnectWhenSent()
    },
  }
}
