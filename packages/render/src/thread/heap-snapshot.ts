import { closeSync, constants, openSync, rmSync, writeSync } from 'node:fs'
import type ivm from 'isolated-vm'
import { RenderError } from '../errors/errors.ts'

/** Memory that V8 needs to take a snapshot, in bytes for each byte of the heap (measured: 17 to 21), and beside that. */
const MEMORY_FACTOR = 24
const SPARE_BYTES = 256 << 20

/** Where a snapshot goes. */
export interface SnapshotTarget {
  /** Absolute path of a file that does not exist yet. */
  readonly file: string
  readonly maxBytes: number
}

/** @throws RENDER_SNAPSHOT if taking a snapshot of a heap of this size may cost the machine its memory */
export function requireMemory(heapBytes: number, availableBytes: number): void {
  const neededBytes = heapBytes * MEMORY_FACTOR + SPARE_BYTES
  if (availableBytes >= neededBytes) return
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024)} MB`
  const facts = `of ${megabytes(neededBytes)} needed, ${megabytes(availableBytes)} of memory are available`
  throw new RenderError('RENDER_SNAPSHOT', `no heap snapshot was taken: ${facts}`)
}

/**
 * Writes the heap of an isolate into a file of mode 0600. Resolves with its bytes, when the isolate may be disposed of again.
 *
 * isolated-vm has no heap snapshot but by its inspector, which must be handled with care: a session that is disposed of during a
 * snapshot aborts the process, one that is not before its isolate is blocks the thread for ever, and so a snapshot cannot be aborted.
 * @throws RENDER_SNAPSHOT
 */
export async function takeHeapSnapshot(isolate: ivm.Isolate, { file, maxBytes }: SnapshotTarget): Promise<number> {
  const fd = openSync(file, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)
  let bytes = 0
  let problem: string | undefined
  const write = (chunk: string) => {
    if (problem !== undefined) return
    bytes += Buffer.byteLength(chunk)
    if (bytes > maxBytes) problem = `it is larger than ${maxBytes} bytes`
    else writeAll(fd, Buffer.from(chunk))
  }
  try {
    await record(isolate, (chunk) => {
      try {
        write(chunk)
      } catch (error) {
        problem = `its file cannot be written: ${String(error)}`
      }
    })
  } catch (error) {
    problem = String(error)
  } finally {
    closeSync(fd)
  }
  if (problem === undefined) return bytes
  rmSync(file, { force: true })
  throw new RenderError('RENDER_SNAPSHOT', `the heap snapshot failed: ${problem}`)
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(fd, bytes, at)
}

async function record(isolate: ivm.Isolate, onChunk: (chunk: string) => void): Promise<void> {
  const session = isolate.createInspectorSession()
  const { promise, resolve } = Promise.withResolvers<{ readonly error?: { readonly message: string } }>()
  session.onNotification = (text) => {
    const { method, params } = JSON.parse(text)
    if (method === 'HeapProfiler.addHeapSnapshotChunk') onChunk(params.chunk)
  }
  session.onResponse = (_id, text) => resolve(JSON.parse(text))
  const request = { id: 1, method: 'HeapProfiler.takeHeapSnapshot', params: { reportProgress: false } }
  session.dispatchProtocolMessage(JSON.stringify(request))
  const { error } = await promise
  if (isolate.isDisposed) {
    // Kept, because its end would block this thread.
    unendable.add(session)
    throw new Error('the isolate was stopped meanwhile')
  }
  session.dispose()
  // The isolate takes part in the end of the session: not before this returns may it be disposed of.
  await isolate.getHeapStatistics()
  if (error !== undefined) throw new Error(error.message)
}

const unendable = new Set<ivm.InspectorSession>()
