import type { MessagePort, TransferListItem } from 'node:worker_threads'
import type { Channel, Frame } from './channel.ts'
import { ClosedSignal } from './channel.ts'

interface Envelope {
  readonly h: unknown
  readonly b?: Uint8Array
}

/** Only memory that belongs to this view alone may be transferred; a view into a shared pool is copied instead. */
function transferable(bytes: Uint8Array): TransferListItem[] {
  return bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer && !Buffer.isBuffer(bytes)
    ? [bytes.buffer]
    : []
}

/** A channel over a MessagePort. Plain `Uint8Array` bytes that own their buffer are transferred: do not touch them again. */
export function createPortChannel(port: MessagePort): Channel {
  const closed = new ClosedSignal()
  port.on('close', () => closed.fire())
  port.on('messageerror', (error) => closed.fire(error))
  return {
    send(head, bytes) {
      if (closed.isClosed) return
      if (bytes === undefined) port.postMessage({ h: head } satisfies Envelope)
      else if (typeof bytes === 'string') port.postMessage({ h: head, b: Buffer.from(bytes) } satisfies Envelope)
      else port.postMessage({ h: head, b: bytes } satisfies Envelope, transferable(bytes))
    },
    onFrame(listener: (frame: Frame) => void) {
      port.on('message', (message: Envelope) => {
        if (!closed.isClosed) listener({ head: message.h, bytes: message.b })
      })
    },
    onClosed: (listener) => closed.listen(listener),
    close() {
      closed.fire()
      port.close()
    },
  }
}
