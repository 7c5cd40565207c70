import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { codeOf } from '@svc/core'

/** Found nowhere else in a file but by chance: behind damage, reading goes on at the next one. */
const MAGIC = Buffer.from('svcTrf\u0001\n')
const LENGTH_AT = MAGIC.byteLength
const CHECKSUM_AT = LENGTH_AT + 4
const MINUTE_AT = CHECKSUM_AT + 4
const HEAD_BYTES = MINUTE_AT + 4
const MINUTE_MS = 60_000
/** Payloads are smaller. */
const MAX_PAYLOAD_BYTES = 4 * 1024 * 1024
const READ_BYTES = 1024 * 1024

/** Bytes of a block: traffic at a time, with a checksum. */
export function blockOf(at: number, payload: Buffer): Buffer {
  const block = Buffer.allocUnsafe(HEAD_BYTES + payload.byteLength)
  MAGIC.copy(block)
  block.writeUInt32LE(payload.byteLength, LENGTH_AT)
  block.writeUInt32LE(at / MINUTE_MS, MINUTE_AT)
  payload.copy(block, HEAD_BYTES)
  block.writeUInt32LE(crc32(block.subarray(MINUTE_AT)), CHECKSUM_AT)
  return block
}

/**
 * Shows the blocks of a file, a part of the file at a time.
 * @returns number of bytes that belong to no whole block
 * @throws the error of the system
 */
export async function readBlocks(path: string, visit: (at: number, payload: Buffer) => void): Promise<number> {
  const handle = await open(path, 'r').catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (handle === undefined) return 0
  try {
    return await readAll(handle, visit)
  } finally {
    await handle.close()
  }
}

async function readAll(handle: FileHandle, visit: (at: number, payload: Buffer) => void): Promise<number> {
  let damagedBytes = 0
  let rest: Buffer = Buffer.alloc(0)
  for (let isAtEnd = false; !isAtEnd; ) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, null)
    isAtEnd = bytesRead === 0
    const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
    const { end, skipped } = takeBlocks(bytes, isAtEnd, visit)
    damagedBytes += skipped
    rest = bytes.subarray(end)
  }
  return damagedBytes + rest.byteLength
}

/** Shows the whole blocks. Returns the end of the last one, or of the bytes that belong to none. */
function takeBlocks(
  bytes: Buffer,
  isAtEnd: boolean,
  visit: (at: number, payload: Buffer) => void,
): { readonly end: number; readonly skipped: number } {
  let end = 0
  let skipped = 0
  for (;;) {
    const length = lengthAt(bytes, end)
    if (length === 'more' && !isAtEnd) return { end, skipped }
    const block = typeof length === 'number' ? bytes.subarray(end, end + length) : undefined
    if (block !== undefined && block.readUInt32LE(CHECKSUM_AT) === crc32(block.subarray(MINUTE_AT))) {
      visit(block.readUInt32LE(MINUTE_AT) * MINUTE_MS, block.subarray(HEAD_BYTES))
      end += block.byteLength
      continue
    }
    if (end >= bytes.byteLength) return { end, skipped }
    const next = bytes.indexOf(MAGIC, end + 1)
    // The beginning of a block may be in the bytes that are read next.
    const resumed = next !== -1 ? next : isAtEnd ? bytes.byteLength : Math.max(end + 1, bytes.byteLength - MAGIC.byteLength + 1)
    skipped += resumed - end
    end = resumed
  }
}

/** Bytes of the block at a position; "more": it may go on behind the bytes. Undefined: there is none. */
function lengthAt(bytes: Buffer, start: number): number | 'more' | undefined {
  const magic = bytes.subarray(start, start + MAGIC.byteLength)
  if (!MAGIC.subarray(0, magic.byteLength).equals(magic)) return undefined
  if (bytes.byteLength < start + HEAD_BYTES) return 'more'
  const payload = bytes.readUInt32LE(start + LENGTH_AT)
  if (payload > MAX_PAYLOAD_BYTES) return undefined
  const length = HEAD_BYTES + payload
  return start + length > bytes.byteLength ? 'more' : length
}
