import { keepContext } from '../context/context.ts'
import { TextDecoder } from '../prelude/encoding/text-decoder.ts'
import type { HtmlSink, HtmlSource } from './html-source.ts'

interface ByteReader {
  read(): Promise<{ done: boolean; value?: Uint8Array }>
  cancel(reason: unknown): Promise<void>
}

/** Makes the byte stream of a standard React server build look like the direct one of the snapshot's. */
export function readableHtml(stream: unknown): HtmlSource {
  const { allReady } = stream as { allReady: Promise<void> }
  const reader = (stream as { getReader(): ByteReader }).getReader()
  const decoder = new TextDecoder()
  let isReading = false
  const readAll = async (sink: HtmlSink) => {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const hasRoom = sink.write(decoder.decode(piece.value, { stream: true }))
      sink.flush()
      if (!hasRoom) return
    }
    sink.end()
  }
  return {
    allReady,
    pull: keepContext((sink: HtmlSink) => {
      if (isReading) return
      isReading = true
      readAll(sink)
        .catch((error: unknown) => sink.error(error))
        .finally(() => {
          isReading = false
        })
    }),
    cancel: (reason) => {
      // The outcome of a cancelled page interests nobody.
      reader.cancel(reason).catch(() => undefined)
    },
  }
}
